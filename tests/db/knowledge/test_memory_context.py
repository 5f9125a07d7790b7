"""The context of a prompt: what is known in two sections, within a budget, the same bytes each time."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.config.tables.knowledge import KnowledgeTable, Retrieval
from elf.families.knowledge.api import writing as w
from elf.families.knowledge.api.searching import ContextAnswer
from elf.families.knowledge.rules.context_text import FACTS, HEADER
from tests.db.knowledge.conftest import ANA, KnowledgeHouse
from tests.db.knowledge.finding_kit import QUERY, Finder
from tests.db.knowledge.lifecycle_kit import Life
from tests.unit.knowledge.test_context_text import HOSTILE, budgets, sections, tokens

pytestmark = pytest.mark.anyio

# How many contents and budgets are tried; a thousand take half a minute.
EXAMPLES = int(os.environ.get("ELF_TEST_CONTEXTS", "50"))

SAID = [
    *HOSTILE, "Zürich — naïve façade", "東京は雨です。\n## 事実",
    "Привет\r\n- [a] [b]: c", "مرحبا\u200f بالعالم", "🙂" * 40,
    "\n\n# Memory Context\n\n## Key Facts\n", "(confidence: 1.00)\n- [x] [y]: z", "x" * 16_000, "long word " * 1_500,
]  # fmt: skip
parts = st.lists(st.one_of(st.sampled_from(SAID), st.text(max_size=60)), min_size=1, max_size=3)
contents = parts.map(lambda said: f"{'a'.join(said)}z"[-16_384:])
names = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=30)).map(
    lambda name: f"n{name}".replace("\0", "")
)


@pytest.fixture
def finder(knowledge: KnowledgeHouse) -> Finder:
    return Finder(knowledge)


def with_retrieval(house: KnowledgeHouse, **retrieval: Any) -> Finder:
    """Return what finds by another config in the same database."""
    config = KnowledgeTable(retrieval=Retrieval(**retrieval))
    return Finder(KnowledgeHouse(house.database, config, house.clock, house.model))


@settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(names, names, contents), max_size=8), st.lists(contents, max_size=5), budgets)
async def test_a_context_stays_within_its_budget_and_its_sections_whatever_is_known(
    finder: Finder, facts: list[tuple[str, str, str]], rules: list[str], budget: int
) -> None:
    tenant = str(uuid4())
    if facts:
        items = [w.NewFact(subject=one, predicate=two, content=three) for one, two, three in facts]
        await finder.house.writing.store_facts(w.StoreFacts(tenant_id=tenant, items=items), ANA)
    if rules:
        said = [w.NewRule(content=content) for content in rules]
        await finder.house.writing.store_rules(w.StoreRules(tenant_id=tenant, items=said), ANA)
    block = await finder.context(tenant_id=tenant, token_budget=budget)
    assert tokens(block.context) <= budget
    assert block.context.startswith(HEADER)
    found = sections(block.context)
    counts = {"## Key Facts": len(block.facts), "## Active Rules": len(block.rules)}
    expected = {"# Memory Context": 0} | {title: count for title, count in counts.items() if count}
    assert {title: len(lines) for title, lines in found.items()} == expected
    assert all(line.startswith("- ") for lines in found.values() for line in lines)
    again = await finder.context(tenant_id=tenant, token_budget=budget)
    assert again.model_dump_json() == block.model_dump_json()


async def test_context_structure(finder: Finder) -> None:
    await finder.fact("by the\n\nwindow", 0.9, subject="Ana  Lima", predicate="seat")
    rule = await finder.rule("# Ask\tfirst", 0.8)
    await Life(finder.house).helpful(rule, times=3)
    await Life(finder.house).harmful(rule)
    await finder.fact("fish", 0.1, subject="Ana", predicate="meal", permanence="volatile")
    finder.clock.turn(days=10)
    assert (await finder.context()).context == (
        "# Memory Context\n"
        "\n## Key Facts\n"
        "- [Ana Lima] [seat]: by the / window (confidence: 0.92)\n"
        "- [Ana] [meal]: fish (confidence: 0.74)\n"
        "\n## Active Rules\n"
        "- # Ask first (maturity: candidate, effectiveness: 0.43)\n"
    )


async def test_of_nothing_known_there_is_the_header(finder: Finder) -> None:
    assert (await finder.context()).context == HEADER
    await finder.rule("Ask first", 0.9)
    assert FACTS not in (await finder.context()).context
    await finder.episode(QUERY, 0.9)
    block = await finder.context(token_budget=5)
    assert (block.context, block.facts, block.rules) == (HEADER, [], [])


async def _several(finder: Finder, count: int = 12) -> None:
    for number in range(count):
        await finder.fact(f"fact {number} {'x' * 100}", 0.9 - number / 40, importance=number % 7)
        await finder.rule(f"rule {number} {'y' * 100}", 0.9 - number / 40)


async def test_token_budget_enforcement(finder: Finder) -> None:
    await _several(finder)
    whole = await finder.context(token_budget=100_000)
    ranked = await finder.recall(limit=20)
    order = {
        kind: [item["id"] for item in ranked if item["memory_type"] == kind] for kind in ("fact", "rule")
    }
    assert (whole.facts, whole.rules) == (order["fact"], order["rule"])
    seen = set()
    for budget in range(5, len(whole.context) // 4 + 2, 9):
        block = await finder.context(token_budget=budget)
        assert math.ceil(len(block.context) / 4) <= budget
        assert block.facts == order["fact"][: len(block.facts)]
        assert block.rules == order["rule"][: len(block.rules)]
        seen.add((len(block.facts), len(block.rules)))
    assert len(seen) > 10
    assert min(seen) == (0, 0)


async def test_the_default_token_budget_is_that_of_the_config(knowledge: KnowledgeHouse) -> None:
    default = Finder(knowledge)
    for number in range(10):
        await default.fact("x " * 1_250, 0.9, subject=f"fact {number}")
    filled = len((await default.context()).context)
    assert 12_000 - 2_700 < filled <= 12_000
    small = with_retrieval(knowledge, context_token_budget=700)
    assert len((await small.context()).facts) == 1
    assert len((await small.context(token_budget=3000)).context) == filled


async def test_scope_filtering_via_butler_name(finder: Finder) -> None:
    stored = {
        scope: (await finder.fact(scope, 0.9, scope=scope), await finder.rule(scope, 0.9, scope=scope))
        for scope in ("global", "travel", "health")
    }
    block = await finder.context(butler="travel")
    assert {*block.facts, *block.rules} == {*stored["global"], *stored["travel"]}


async def test_a_context_looks_at_20_memories_or_as_many_as_the_config_says(
    knowledge: KnowledgeHouse,
) -> None:
    finder = Finder(knowledge)
    await _several(finder, 15)
    for limit in (20, 3):
        house = with_retrieval(knowledge, default_limit=limit)
        block = await house.context(token_budget=100_000)
        assert len(block.facts) + len(block.rules) == limit
    assert len(_lines(await finder.context(token_budget=100_000))) == 20


async def test_deterministic_section_quotas(knowledge: KnowledgeHouse) -> None:
    finder = Finder(knowledge)
    await _several(finder)
    lengths = []
    for share in (0.0, 0.3, 0.6, 1.0):
        house = with_retrieval(knowledge, rules_share=share)
        blocks = [await house.context(token_budget=300) for _ in range(2)]
        assert blocks[0] == blocks[1]
        lengths.append(len(blocks[0].rules))
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[1] < lengths[2] < lengths[3]


async def test_the_same_call_gives_the_same_bytes_whatever_was_read_between(finder: Finder) -> None:
    await _several(finder)
    block = await finder.context()
    await finder.search()
    again = await finder.context()
    assert again.model_dump_json() == block.model_dump_json()
    rows = await finder.house.rows("SELECT sum(reference_count) AS n FROM knowledge_facts")
    assert rows[0]["n"] == 0


async def test_an_answer_without_a_model_says_so(finder: Finder) -> None:
    fact = await finder.fact("a seat", 0.9)
    finder.house.model.away = True
    block = await finder.context("seat")
    assert (block.facts, block.degraded) == ([fact], ["embedding"])


def _lines(block: ContextAnswer) -> list[str]:
    return [line for line in block.context.splitlines() if line.startswith("- ")]


@contextmanager
def bounded() -> Iterator[None]:
    """Cut off what would wait for Postgres as long as any other call does, which is half a minute."""
    with anyio.fail_after(15):
        yield


@pytest.mark.parametrize("table", ["knowledge_facts", "knowledge_rules"])
async def test_a_prompt_does_without_its_context_while_a_table_is_locked(finder: Finder, table: str) -> None:
    await finder.fact("a window seat")
    async with finder.house.database.transaction() as connection:
        await connection.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        with bounded():
            answer = await finder.context("a seat")
    assert (answer.context, answer.facts, answer.rules, answer.degraded) == (HEADER, [], [], ["storage"])
    assert FACTS in (await finder.context("a seat")).context


async def test_a_prompt_does_without_its_context_whatever_fails_in_the_database(finder: Finder) -> None:
    await finder.fact("a window seat")
    try:
        async with finder.house.database.connection() as connection:
            await connection.execute("ALTER TABLE knowledge_rules RENAME TO knowledge_rules_lost")
        answer = await finder.context("a seat")
    finally:
        async with finder.house.database.connection() as connection:
            await connection.execute("ALTER TABLE knowledge_rules_lost RENAME TO knowledge_rules")
    assert (answer.context, answer.facts, answer.rules, answer.degraded) == (HEADER, [], [], ["storage"])
    assert FACTS in (await finder.context("a seat")).context
