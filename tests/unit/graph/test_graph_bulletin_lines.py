"""The text of a bulletin, against a second, plain implementation of how it is cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.families.graph.model import NODE_TYPES, NodeType
from elf.families.graph.rules.bulletin_lines import (
    MAX_CITATIONS,
    MAX_LINE_CHARS,
    SECTIONS,
    BulletinText,
    Entry,
    compose,
    cut,
)

KEPT_LONGEST = {"Goal", "Todo", "Decision"}
HOMES = {
    "Goal": "active_goals", "Todo": "open_todos", "Decision": "recent_decisions", "Preference": "preference_profile",
}  # fmt: skip

entries = st.lists(
    st.builds(
        Entry,
        memory_id=st.integers(0, 99).map(lambda number: f"m-{number}"),
        type=st.sampled_from(NODE_TYPES),
        text=st.text(st.sampled_from("ab é🙂"), max_size=400).map(lambda text: " ".join(text.split()) or "x"),
        confidence=st.sampled_from([0.0, 0.49, 0.5, 1.0]),
        contradicted=st.booleans(),
    ),
    max_size=60,
    unique_by=lambda entry: entry.memory_id,
)
limits = st.integers(1, 400) | st.integers(1, 20_000)


def entry(
    memory_id: str,
    node_type: NodeType = "Fact",
    text: str = "text",
    *,
    confidence: float = 1.0,
    contradicted: bool = False,
) -> Entry:
    return Entry(
        memory_id=memory_id, type=node_type, text=text, confidence=confidence, contradicted=contradicted
    )


def plain_line(one: Entry) -> str:
    tail = f" [{one.memory_id}]"
    room = 320 - 2 - len(tail)
    words = one.text.split(" ")
    while words and len(" ".join(words)) > room:
        words.pop()
    whole = " ".join(words)
    enough = len(one.text) <= room or 2 * len(whole) >= room
    return f"- {whole if enough else one.text[:room].strip()}{tail}"


def plain_sections(shown: list[Entry]) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {name: [] for name in SECTIONS}
    for one in shown:
        sections[HOMES.get(one.type, "knowledge_summary")].append(plain_line(one))
        if one.contradicted or one.confidence < 0.5:
            sections["conflicts_and_uncertainties"].append(plain_line(one))
    return sections


def plain(shown: list[Entry], max_chars: int) -> str:
    """Everything rendered anew after each line, and then each section, that is taken away."""
    sections = plain_sections(shown)

    def rendered() -> str:
        return "\n".join(f"{name}:\n" + ("\n".join(lines) or "-") for name, lines in sections.items())

    def cited() -> set[str]:
        return {line[line.rindex("[") :] for lines in sections.values() for line in lines}

    knowledge, goals, todos, decisions, preferences, conflicts = SECTIONS
    lines_go = iter([knowledge, preferences, conflicts, decisions, todos, goals])
    sections_go = iter([conflicts, preferences, knowledge, decisions, todos, goals])
    going = next(lines_go)
    while len(rendered()) > max_chars or len(cited()) > 32:
        while going and not sections[going]:
            going = next(lines_go, None)
        if going:
            sections[going].pop()
        else:
            del sections[next(sections_go)]
    return rendered()


def lines_of(bulletin: BulletinText) -> list[str]:
    return [line.memory_id for lines in bulletin.sections.values() for line in lines]


@given(shown=entries, max_chars=limits)
def test_a_bulletin_is_cut_as_the_plain_rules_say(shown: list[Entry], max_chars: int) -> None:
    assert compose(shown, max_chars=max_chars).rendered == plain(shown, max_chars)


@given(shown=entries, max_chars=limits)
def test_a_bulletin_never_exceeds_its_limits(shown: list[Entry], max_chars: int) -> None:
    bulletin = compose(shown, max_chars=max_chars)
    assert len(bulletin.rendered) <= max_chars
    assert len(bulletin.citations) <= MAX_CITATIONS
    assert all(len(line) <= MAX_LINE_CHARS for line in bulletin.rendered.split("\n"))


@given(shown=entries, max_chars=limits)
def test_a_bulletin_cites_exactly_what_it_shows(shown: list[Entry], max_chars: int) -> None:
    bulletin = compose(shown, max_chars=max_chars)
    in_text = [
        line[line.rindex("[") + 1 : -1] for line in bulletin.rendered.split("\n") if line.startswith("- ")
    ]
    assert lines_of(bulletin) == in_text
    assert list(bulletin.citations) == list(dict.fromkeys(in_text))


@given(shown=entries, max_chars=limits)
def test_equal_memories_make_equal_bulletins(shown: list[Entry], max_chars: int) -> None:
    assert compose(shown, max_chars=max_chars) == compose(iter(list(shown)), max_chars=max_chars)


@given(shown=entries, max_chars=limits)
def test_no_goal_todo_or_decision_goes_while_a_line_of_another_kind_stays(
    shown: list[Entry], max_chars: int
) -> None:
    bulletin = compose(shown, max_chars=max_chars)
    kinds = {one.memory_id: one.type for one in shown}
    gone = [one for one in shown if one.memory_id not in bulletin.citations]
    if any(one.type in KEPT_LONGEST for one in gone):
        assert {kinds[memory_id] for memory_id in lines_of(bulletin)} <= KEPT_LONGEST


@given(shown=entries, max_chars=limits)
def test_what_is_shown_of_a_section_is_its_beginning(shown: list[Entry], max_chars: int) -> None:
    whole = compose(shown[:MAX_CITATIONS], max_chars=10**6)
    cut = compose(shown[:MAX_CITATIONS], max_chars=max_chars)
    for section, lines in cut.sections.items():
        assert tuple(whole.sections[section][: len(lines)]) == tuple(lines)


@given(shown=entries, max_chars=limits, less=limits)
def test_a_bulletin_that_is_cut_again_is_as_if_it_had_been_cut_at_once(
    shown: list[Entry], max_chars: int, less: int
) -> None:
    first = compose(shown, max_chars=max_chars)
    assert cut(first.sections, max_chars=less) == compose(shown, max_chars=min(less, max_chars))


def test_a_bulletin_has_six_sections_in_the_specs_order() -> None:
    assert compose([], max_chars=4000).rendered == (
        "knowledge_summary:\n-\nactive_goals:\n-\nopen_todos:\n-\nrecent_decisions:\n-\npreference_profile:\n-\n"
        "conflicts_and_uncertainties:\n-"
    )


@pytest.mark.parametrize("node_type", NODE_TYPES)
def test_each_kind_has_its_section(node_type: NodeType) -> None:
    sections = compose([entry("m", node_type)], max_chars=4000).sections
    home = HOMES.get(node_type, "knowledge_summary")
    assert [name for name, lines in sections.items() if lines] == [home]


@pytest.mark.parametrize(("confidence", "contradicted"), [(0.49, False), (1.0, True)])
def test_what_is_uncertain_or_contradicted_is_told_twice_and_cited_once(
    confidence: float, contradicted: bool
) -> None:
    bulletin = compose([entry("m", confidence=confidence, contradicted=contradicted)], max_chars=4000)
    assert lines_of(bulletin) == ["m", "m"]
    assert bulletin.citations == ("m",)
    assert bulletin.sections["conflicts_and_uncertainties"]


def test_a_confidence_of_one_half_is_certain() -> None:
    assert lines_of(compose([entry("m", confidence=0.5)], max_chars=4000)) == ["m"]


def test_the_last_lines_of_what_is_known_go_first() -> None:
    shown = [entry("g", "Goal"), entry("f1"), entry("f2"), entry("p", "Preference")]
    whole = compose(shown, max_chars=4000).rendered
    cut = compose(shown, max_chars=len(whole) - 1)
    assert cut.rendered == whole.replace("\n- text [f2]", "")


def test_at_most_32_memories_are_cited_and_the_needed_ones_stay() -> None:
    shown = [*[entry(f"f-{number}") for number in range(40)], *[entry(f"g-{n}", "Goal") for n in range(30)]]
    bulletin = compose(shown, max_chars=20_000)
    assert bulletin.citations == ("f-0", "f-1", *[f"g-{number}" for number in range(30)])


def test_a_limit_that_not_even_a_name_fits_leaves_nothing() -> None:
    bulletin = compose([entry("m", "Goal")], max_chars=1)
    assert (bulletin.rendered, bulletin.citations, dict(bulletin.sections)) == ("", (), {})


def test_the_goals_section_goes_last() -> None:
    assert compose([], max_chars=len("active_goals:\n-")).rendered == "active_goals:\n-"
