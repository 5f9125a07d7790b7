"""Which texts state the same fact: rewordings that may be known, and differences that never may be passed over."""

from __future__ import annotations

from collections import Counter

import pytest
from data.fact_pairs import HALVES, Half, fact_pairs
from hypothesis import assume, given
from hypothesis import strategies as st

from elf.core.same_fact import contains_fact, difference, same_fact

# Case, marks and openings

SAME_PRESENTATION = [
    ("The API limit is 500.", "the API limit is 500"),
    ("The API limit is 500.", "the api limit is 500"),
    ("The API limit is 500.", "THE API LIMIT IS 500!"),
    ("Fact: The sky is blue.", "The sky is blue"),
    ("Decision - the logo stays green.", "Decision: The logo stays green"),
    ("Please note that backups run daily.", "NOTE: backups run daily."),
    ("FYI, Fact: the sky is blue.", "The sky is blue."),
    ("The user\u2019s car is red\u2026", "The user's car is red."),
    ("The range is 5\u20136.", "The range is 5-6."),
    ("Ana\u00a0likes\u200b tea.", "Ana likes tea."),
    ("Caf\u00e9 au lait.", "Cafe\u0301 au lait."),
    ("Tomas, the CTO, joined in 2019.", "Tomas (the CTO) joined in 2019."),
    ("It stays [for now].", "It stays, for now."),
    ("A, B, and C work.", "A, B and C work."),
    ("The stack is: React.", "The stack is React."),
    ("The check is at /healthz - it returns 200.", "The check is at /healthz. It returns 200."),
    ("Run `make test` first.", 'Run "make test" first'),
    ("Ana said so; Ben agreed.", "Ana said so. Ben agreed!"),
    ("Is it on?!", "Is it on?"),
    ("R & D is in Oslo.", "R and D is in Oslo."),
    ("Server room is on floor 2.", "The server room is on floor 2."),
    ("User is vegetarian.", "The user is a vegetarian."),
    ("An apple is on a desk.", "Apple is on desk."),
]
SAME_WORDS = [
    ("The user doesn't eat pork.", "The user does not eat pork."),
    ("Ana can't and won't come.", "Ana cannot and will not come."),
    (
        "They're here and we've left; I'm out, she'll stay.",
        "They are here and we have left; I am out, she will stay.",
    ),
    ("It's open and let's go.", "It is open and let us go."),
    ("The users' data is kept.", "The users' data is kept!"),
    ("It is a long-term plan.", "It is a long term plan."),
    ("The Wi-Fi is named Kestrel.", "The Wi Fi is named Kestrel."),
    ("The user's favourite colour is grey.", "The user's favorite color is gray."),
    (
        "We optimised and analysed the travelling catalogue.",
        "We optimized and analyzed the traveling catalog.",
    ),
    ("The report comes every month.", "The report comes each month."),
    ("The shop closes every Monday.", "The shop closes on Mondays."),
    ("Ana trains every other week.", "Ana trains every two weeks."),
    ("Nobody likes it.", "No one likes it."),
    ("Up to 5 people fit.", "At most five people fit."),
    ("The DB is in the UK.", "The database is in the United Kingdom."),
    ("PRs go to GH.", "Pull requests go to GitHub."),
    ("The repo uses TS.", "The repository uses TypeScript."),
    ("The service runs on Postgres.", "The service runs on PostgreSQL."),
    ("The boat is called Petrel.", "The boat is named Petrel."),
    ("The user prefers tea to coffee.", "The user prefers tea over coffee."),
    ("The user prefers tea to coffee.", "User prefers tea rather than coffee."),
    ("Preference: User prefers dark mode.", "The user prefers dark mode."),
    ("Preference: dark mode.", "The user prefers dark mode."),
    ("Plan: visit Kyoto.", "The user plans to visit Kyoto."),
    ("Dr. Berg is in.", "Dr Berg is in."),
    ("The U.S. office is closed.", "The US office is closed."),
]
SAME_NUMBERS = [
    ("Ana has twenty-one cats.", "Ana has 21 cats."),
    ("Ana has twenty one cats.", "Ana has 21 cats."),
    ("It holds one hundred five seats.", "It holds 105 seats."),
    ("It holds a hundred seats.", "It holds 100 seats."),
    ("It holds two hundred thousand seats.", "It holds 200,000 seats."),
    ("It holds 2.5 million rows.", "It holds 2,500,000 rows."),
    ("It holds 10k rows.", "It holds 10,000 rows."),
    ("It holds 5M rows.", "It holds 5 million rows."),
    ("The first try failed.", "The 1st try failed."),
    ("The threshold is .8.", "The threshold is 0.8."),
    ("Ana pays $12 per month.", "Ana pays 12 dollars a month."),
    ("Ana pays \u20ac72k.", "Ana pays 72,000 euros."),
    ("Ana pays 72\u20ac.", "Ana pays 72.00 euros."),
    ("Ana pays CHF 70.", "Ana pays 70 CHF."),
    ("They pay in USD", "They pay in USD."),
    ("The rate is 0.5 per cent.", "The rate is 0.50%."),
    ("The timeout is 30 s.", "The timeout is half a minute."),
    ("The timeout is 0.5 s.", "The timeout is 500 ms."),
    ("The trial lasts 14 days.", "The trial lasts two weeks."),
    ("The call lasts 90 minutes.", "The call lasts an hour and a half."),
    ("The lock is held for an hour.", "The lock is held for 60 min."),
    ("A 10-minute break.", "A ten-minute break."),
    ("The limit is 500 requests/minute.", "The limit is 500 requests a minute."),
    ("The train does 90 km/h.", "The train does 90 kilometers per hour."),
    ("The disk is 2 TB.", "The disk is two terabytes."),
    ("The oven is at 200 \u00b0C.", "The oven is at 200 degrees Celsius."),
    ("The oven is at 200\u00b0C.", "The oven is at 200 degrees celsius."),
    ("The walk is 14 km.", "The walk is 14 kilometres."),
    ("It runs twice a day.", "It runs two times a day."),
    ("It was cold in the 90s.", "It was cold in the 90s!"),
]
SAME_MOMENTS = [
    ("It ends on March 5, 2026.", "It ends on 5 March 2026."),
    ("It ends on the 5th of March 2026.", "It ends on 2026-03-05."),
    ("It ends on 31.12.2025.", "It ends on December 31, 2025."),
    ("It ends on Sept. 3.", "It ends on September 3rd."),
    ("It ends on 3 Mar.", "It ends on March 3."),
    ("It is on Sat, 20 June 2026.", "It is on Saturday, June 20, 2026."),
    ("It is on Sat, June 20.", "It is on Saturday 20 June."),
    ("It is on Tue.", "It is on Tuesday."),
    ("It opens at 4 pm.", "It opens at 16:00."),
    ("It opens at 4:30 p.m.", "It opens at 16:30."),
    ("It opens at 9am.", "It opens at 09:00."),
    ("It opens at noon.", "It opens at 12 pm."),
    ("It opens at midnight.", "It opens at 12 am."),
]
SAME_ORDER = [
    ("On Fridays, the shop is closed.", "The shop is closed on Fridays."),
    ("On Fridays the shop is closed.", "The shop is closed every Friday."),
    ("If the build is red, nobody may merge.", "Nobody may merge if the build is red."),
    ("After lunch Priya prefers calls.", "Priya prefers calls after lunch."),
    ("The team is led by Ana.", "Ana leads the team."),
    ("The team was led by Ana since May.", "Ana led the team since May."),
    ("The pages are verified and cached by Ana.", "The pages are verified and cached by Ana!"),
    ("The copies are published by the press.", "The press publishes the copies."),
    ("The pages are verified by Ana.", "Ana verifies the pages."),
    ("The apps are deployed by Ana.", "Ana deploys the apps."),
    ("The port of the server is 80.", "The server's port is 80."),
    ("Ana's boss is Ben.", "The boss of Ana is Ben."),
]


@pytest.mark.parametrize(
    ("first", "second"), SAME_PRESENTATION + SAME_WORDS + SAME_NUMBERS + SAME_MOMENTS + SAME_ORDER
)
def test_the_same_fact_in_another_form_is_known(first: str, second: str) -> None:
    assert same_fact(first, second)
    assert same_fact(second, first)
    assert difference(first, second) is None


NUMBERS_DIFFER = [
    ("The API limit is 100.", "The API limit is 500."),
    ("It runs Python 3.10.", "It runs Python 3.1."),
    ("The version is 1.0.", "The version is 1."),
    ("The id is 007.", "The id is 7."),
    ("The id is 12345678901234567890.", "The id is 12345678901234567891."),
    ("The key is 1234567890123456789012345678901 ms.", "The key is 1234567890123456789012345678902 ms."),
    ("The level is -1.", "The level is 1."),
    ("The value is <5.", "The value is >5."),
    ("The size is 10\u00b2.", "The size is 102."),
    ("The dose is 2\u00bd mg.", "The dose is 21/2 mg."),
    ("The limit is 10 MB.", "The limit is 10 Mb."),
    ("The limit is 10 MB.", "The limit is 10 MiB."),
    ("Ana paid $5.", "Ana paid \u20ac5."),
    ("Ana paid 5 dollars.", "Ana paid 5 USD."),
    ("Ana gave 100 pounds.", "Ana gave \u00a3100."),
    ("It costs $1.5 million.", "It costs $1.5 billion."),
    ("It is due 03/04/2026.", "It is due 04/03/2026."),
    ("It is due 03.04.2026.", "It is due 2026-04-03."),
    ("It is due on 31.02.2026.", "It is due on 2026-02-31."),
    ("It is due on 30 February.", "It is due on February 30."),
    ("It was built in the 90s.", "It was built in 90 seconds."),
    ("It was built in the 1990s.", "It was built in 1990 seconds."),
    ("It starts at 3:00.", "It starts at 3 pm."),
    ("It starts at 12 am.", "It starts at 12 pm."),
    ("It starts at 10:99.", "It starts at 10:59."),
    ("It starts at 13 pm.", "It starts at 1 pm."),
    ("The job takes 1 month.", "The job takes 30 days."),
    ("The cap is 1,000.", "The cap is 1.000."),
    ("Rates rose by 3%.", "Rates rose by 3 percentage points."),
    ("The sum of 1 and 2.", "The sum of 12."),
    ("The 2 second timeout applies.", "The 2nd timeout applies."),
    ("Twenty twenty was hard.", "2020 was hard."),
    ("It needs 5-10 minutes.", "It needs 5-10 hours."),
    ("It happened on May 3.", "It may 3."),
    ("They sat 20 minutes.", "They Saturday 20 minutes."),
]
WORDS_DIFFER = [
    ("The flat fee is due.", "The apartment fee is due."),
    ("The application is due.", "The app is due."),
    ("All jobs start at once.", "All jobs start immediately."),
    ("Ana has few friends.", "Ana has a few friends."),
    ("Ben is an only child.", "Ben is the only child."),
    ("Ben is a lead.", "Ben is the lead."),
    ("The endpoint is called by Ana.", "The endpoint is named by Ana."),
    ("Ana likes tea?", "Ana likes tea."),
    ("No, deploys are fine.", "No deploys are fine."),
    ("Let's eat, Ana.", "Let's eat Ana."),
    ("He'd go to Oslo.", "He would go to Oslo."),
    ("Ana re-signed.", "Ana resigned."),
    ("It has three hundred-year-old trees.", "It has three-hundred-year-old trees."),
    ("Ana saw a man-eating shark.", "Ana saw a man eating shark."),
    ("We need more-qualified people.", "We need more qualified people."),
    ("Plan: move to Oslo.", "Decision: move to Oslo."),
    ("Max is 5.", "The maximum is 5."),
    ("Plan A is cheap.", "Plan is cheap."),
    ("...", "-"),
    ("", "."),
    ("Ana works on Monday.", "Ana works on Mondays."),
    ("The users table is big.", "The user's table is big."),
    ("Read the docs.", "Read the Docs."),
]
NAMES_DIFFER = [
    ("The server is in Oslo.", "The server is in Osla."),
    ("Call IT about it.", "Call it about it."),
    ("The US office is closed.", "The us office is closed."),
    ("The branch is Main.", "The branch is main."),
    ("The flag is -v.", "The flag is -V."),
    ("The flag is enableCache.", "The flag is enablecache."),
    ("Use foo() here.", "Use foo here."),
    ("Use [a-z]+ here.", "Use a-z]+ here."),
    ("Send it to /a/b.", "Send it to /A/b."),
    ("Polish the table, may we?", "Polish the table, May we?"),
]
ROLES_DIFFER = [
    ("Ana reports to Ben.", "Ben reports to Ana."),
    ("Copy it from staging to local.", "Copy it from local to staging."),
    ("The user prefers tea to coffee.", "The user prefers coffee to tea."),
    ("Only Ana reviews code.", "Ana only reviews code."),
    ("Ana's manager is Ben.", "Ben's manager is Ana."),
    ("Ana's picture is old.", "The picture of Ana is old."),
    ("The team said on Monday that Ben leaves.", "The team said that Ben leaves on Monday."),
    ("On Mondays, Ana likes working.", "Ana likes working on Mondays."),
    ("Every night Ana does not sleep.", "Ana does not sleep every night."),
    ("Because of the audit, logs are not kept.", "Logs are not kept because of the audit."),
    ("In Oslo Ana works and Ben sleeps.", "Ana works and Ben sleeps in Oslo."),
    ("When users call admins reset it.", "Reset it when users call admins."),
    ("On Monday, in Oslo, Ana works.", "In Oslo, Ana works on Monday."),
    ("On Monday. Ana works.", "Ana works on Monday."),
    ("Ana is paid by Ben and leads Cid.", "Ben pays Ana and leads Cid."),
    ("Each ticket is handled by one agent.", "One agent handles each ticket."),
    ("One ticket is handled by every agent.", "Every agent handles one ticket."),
    ("Ana is led by Ben.", "Ana leads Ben."),
    ("Stand by Ana.", "Ana stands."),
]


@pytest.mark.parametrize(("first", "second"), NUMBERS_DIFFER + WORDS_DIFFER + NAMES_DIFFER + ROLES_DIFFER)
def test_what_may_be_another_fact_is_never_taken_for_the_same(first: str, second: str) -> None:
    assert not same_fact(first, second)
    assert not same_fact(second, first)
    assert difference(first, second) is not None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("The limit is 100.", "The limit is 500.", "numbers"),
        ("It runs at 3 am.", "It runs at 4 am.", "numbers"),
        ("The cache is on.", "The cache is not on.", "negation"),
        ("The server is in Oslo.", "The server is in Bergen.", "names"),
        ("The flag is aB.", "The flag is bA.", "names"),
        ("The staging server is big.", "The test server is big.", "words"),
        ("Ana reports to Ben.", "Ben reports to Ana.", "order"),
    ],
)
def test_a_difference_has_a_name(first: str, second: str, expected: str) -> None:
    assert difference(first, second) == expected


@pytest.mark.parametrize("half", HALVES)
def test_no_two_different_facts_of_the_pairs_are_one(half: Half) -> None:
    pairs = fact_pairs(half)
    merged = Counter(pair.kind for pair in pairs if same_fact(pair.first, pair.second))
    for kind, count in Counter(pair.kind for pair in pairs).items():
        print(f"{half} {kind}: {merged[kind]} merged, {count - merged[kind]} kept apart")  # noqa: T201 - for -s
    assert (merged["changed"], merged["other"]) == (0, 0)


def test_more_than_half_of_the_rewordings_in_the_open_pairs_are_known() -> None:
    pairs = [pair for pair in fact_pairs("open") if pair.is_same]
    assert sum(same_fact(pair.first, pair.second) for pair in pairs) > len(pairs) / 2


# Whatever the text

PARTS = [
    "Ana", "Ben", "Oslo", "the", "a", "server", "servers", "is", "was", "not", "never", "no", "in", "on", "to", "from",
    "by", "100", "500", "3.10", "3.1", "5", "MB", "GB", "seconds", "minutes", "Monday", "Friday", "May", "March",
    "2026", "pm", "leads", "led", "at", "least", "most", "and", "or", "if", "every", "some", ",", ".", "'s", "of",
    "port", "userId", "userid", "v1", "v2", "half", "an", "hour", "prefers", "over", "staging", "production", "up",
]  # fmt: skip
sentences = st.lists(st.sampled_from(PARTS), min_size=1, max_size=10).map(" ".join)
VALUES = [
    "100",
    "500",
    "Ana",
    "Ben",
    "Oslo",
    "not",
    "never",
    "staging",
    "production",
    "Monday",
    "v1",
    "v2",
    "userId",
]


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_can_be_compared_and_their_order_does_not_matter(first: str, second: str) -> None:
    assert same_fact(first, first)
    assert same_fact(first, second) == same_fact(second, first)
    assert (difference(first, second) is None) == same_fact(first, second)


@given(sentences, sentences)
def test_the_order_of_two_sentences_does_not_matter(first: str, second: str) -> None:
    assert same_fact(first, second) == same_fact(second, first)


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.integers(0, 8), st.permutations(VALUES))
def test_another_value_at_the_same_place_is_another_fact(
    parts: list[str], place: int, values: list[str]
) -> None:
    one, other, *_ = values
    first, second = (" ".join([*parts[:place], value, *parts[place:]]) for value in (one, other))
    assert not same_fact(first, second)


@given(st.lists(st.sampled_from(PARTS), min_size=1, max_size=8), st.integers(0, 8), st.sampled_from(VALUES))
def test_a_value_that_only_one_text_has_is_another_fact(parts: list[str], place: int, value: str) -> None:
    assert not same_fact(" ".join(parts), " ".join([*parts[:place], value, *parts[place:]]))


@given(st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=2, max_size=8), st.data())
def test_words_in_another_order_are_another_fact(words: list[str], data: st.DataObject) -> None:
    # Without a word that a sentence may be turned round at, no order but its own is the same.
    assume(not {"during", "before", "after", "for", "since", "every", "the", "and"} & set(words))
    shuffled = data.draw(st.permutations(words))
    assume(shuffled != words)
    assert not same_fact("x " + " ".join(words), "x " + " ".join(shuffled))


def test_a_long_text_is_compared_as_it_stands() -> None:
    long = "The port of the server is 80 and that is so. " * 100
    assert same_fact(long, long.replace("is 80", "is  80"))
    assert not same_fact(long, long[:-3])
    assert not same_fact("On Monday " + "very " * 90 + "much.", "very " * 90 + "much on Monday.")


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("I live in Porto.", "I live in Porto with two cats."),
        ("Profile: I live in Porto", "Profile: I live in Porto with two cats."),
        ("I prefer green tea.", "I prefer green tea over coffee."),
        ("User has a dog.", "User has a dog named Rex."),
        ("I work at Acme.", "I work at Acme in the design team."),
    ],
)
def test_a_statement_that_goes_on_where_another_ends_contains_it(shorter: str, longer: str) -> None:
    assert contains_fact(longer, shorter)
    assert not contains_fact(shorter, longer)
    assert not contains_fact(shorter, shorter)


@pytest.mark.parametrize(
    ("shorter", "longer"),
    [
        ("I eat meat.", "I eat meat only on Sundays."),
        ("I eat meat.", "I eat meat but not pork."),
        ("I do not eat meat.", "I do not eat meat with bones."),
        ("I live in Porto.", "I live in Porto if the visa comes."),
        ("I live in Porto.", "I live in Lisbon with two cats."),
        ("The limit is 100.", "The limit is 100 in staging."),
        ("The limit is 100.", "The limit is 100 for staging."),
        ("We use Postgres.", "We use Postgres for the ledger."),
        ("Every server has a disk.", "Every server has a disk with a mirror."),
        ("I like tea.", "I like tea. My brother is called Tom."),
        ("Fact: I live in Porto.", "Profile: I live in Porto with two cats."),
        ("He ran.", "He ran with Tom."),
    ],
)
def test_what_limits_a_statement_or_states_another_contains_none(shorter: str, longer: str) -> None:
    assert not contains_fact(longer, shorter)
