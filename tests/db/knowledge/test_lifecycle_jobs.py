"""What is done to memories after they were written: vectors they lack, and rules that are inverted."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from elf.core.errors import ProviderUnavailable
from elf.families.knowledge.api.working import Reembed
from elf.families.knowledge.keeping.jobs import MemoryJobs
from elf.families.knowledge.kit import OUTBOX
from elf.families.knowledge.model import MemoryType
from elf.families.knowledge.upkeep.reembedding import Reembedding
from elf.outbox.leased import LeasedOutbox, LeaseLost
from tests.db.knowledge.conftest import ANA, KnowledgeHouse
from tests.db.knowledge.lifecycle_kit import Life
from tests.notes_kit import FakeEmbedder

pytestmark = pytest.mark.anyio

ANTI_PATTERN = "ANTI-PATTERN: Do NOT Ask first. This caused problems because: sold out; too late"


@pytest.fixture
def life(knowledge: KnowledgeHouse) -> Life:
    return Life(knowledge)


async def harmful_rule(life: Life, **more: Any) -> UUID:
    """A rule that is to be inverted."""
    rule = await life.house.rule(**more)
    await life.harmful(rule, reason="sold out")
    await life.harmful(rule)
    await life.harmful(rule, reason="too late")
    return rule


async def found_by(life: Life, word: str) -> list[UUID]:
    rows = await life.house.rows(
        "SELECT id FROM knowledge_rules WHERE search_vector @@ plainto_tsquery('english', $1)", word
    )
    return [row["id"] for row in rows]


async def test_no_job_is_leased_while_what_all_need_is_away(life: Life) -> None:
    life.house.model.away = True
    away = True
    kit = life.house.kit
    outbox = LeasedOutbox(kit.database, kit.queries, table=OUTBOX, lease_seconds=60, is_paused=lambda: away)
    await life.fact()
    assert await outbox.lease(10) == []
    away = False
    (job,) = await outbox.lease(10)
    assert job.attempts == 0


async def test_rule_inversion_to_anti_pattern(life: Life) -> None:
    rule = await harmful_rule(life)
    before = await life.house.row("rule", rule)
    await life.do_jobs()
    row = await life.house.row("rule", rule)
    assert row["content"] == ANTI_PATTERN
    assert row["maturity"] == "anti_pattern"
    assert row["metadata"] == {
        "original_content": "Ask first", "needs_inversion": False, "harmful_reasons": ["sold out", "too late"],
    }  # fmt: skip
    assert row["embedding"] != before["embedding"]
    assert row["embedding_version"] == life.house.model.version
    assert ANTI_PATTERN in "".join(life.house.model.texts)
    assert await found_by(life, "anti-pattern sold") == [rule]
    event = await life.last_event(rule)
    assert (event["event_type"], event["actor"]) == ("rule_inverted", "worker")
    assert (event["payload"]["from"], event["payload"]["to"]) == ("candidate", "anti_pattern")
    assert await life.open_jobs() == []


async def test_an_inversion_without_reasons_tells_of_repeated_failures(life: Life) -> None:
    rule = await life.house.rule()
    await life.harmful(rule, times=3)
    await life.do_jobs()
    content = (await life.house.row("rule", rule))["content"]
    assert content.endswith("Do NOT Ask first. This caused problems because: repeated failures")


async def test_an_anti_pattern_counts_marks_and_stays_one(life: Life) -> None:
    rule = await harmful_rule(life)
    await life.do_jobs()
    marked = await life.harmful(rule)
    assert (marked.harmful_count, marked.maturity) == (4, "anti_pattern")
    life.clock.turn(days=31)
    marked = await life.helpful(rule, times=30)
    assert (marked.success_count, marked.maturity) == (30, "anti_pattern")
    assert await life.open_jobs() == []


async def test_while_the_embedder_is_away_a_rule_is_inverted_without_a_vector_which_comes_later(
    life: Life,
) -> None:
    rule = await harmful_rule(life)
    life.house.model.away = True
    rings = life.house.rings
    await life.jobs.handle(await life.lease())
    row = await life.house.row("rule", rule)
    assert (row["content"], row["embedding"], row["embedding_version"]) == (ANTI_PATTERN, None, None)
    assert await life.open_jobs() == [("vector", "rule", rule)]
    assert life.house.rings > rings
    life.house.model.away = False
    await life.do_jobs()
    assert (await life.house.row("rule", rule))["embedding"] is not None


async def test_a_reason_that_comes_while_a_rule_is_embedded_is_told_too(life: Life) -> None:
    rule = await harmful_rule(life)

    async def another() -> None:
        life.house.model.before_answer = None
        await life.harmful(rule, reason="rude")

    life.house.model.before_answer = another
    await life.do_jobs()
    row = await life.house.row("rule", rule)
    assert row["content"] == f"{ANTI_PATTERN}; rude"
    assert row["embedding"] is not None
    assert life.house.model.texts[-1].endswith("rude"), "that is what the vector is of"


async def test_a_rule_that_is_forgotten_or_erased_is_not_inverted(life: Life) -> None:
    forgotten, erased = await harmful_rule(life), await harmful_rule(life)
    await life.forget("rule", forgotten)
    await life.house.rows("DELETE FROM knowledge_rules WHERE id = $1", erased)
    await life.do_jobs()
    assert (await life.house.row("rule", forgotten))["maturity"] == "candidate"
    assert await life.open_jobs() == []


async def test_a_rule_that_is_forgotten_while_it_is_embedded_is_not_inverted(life: Life) -> None:
    rule = await harmful_rule(life)

    async def forget() -> None:
        life.house.model.before_answer = None
        await life.forget("rule", rule)

    life.house.model.before_answer = forget
    await life.do_jobs()
    assert (await life.house.row("rule", rule))["maturity"] == "candidate"
    assert await life.open_jobs() == []


# Vectors


async def without_vectors(life: Life) -> dict[MemoryType, UUID]:
    """A memory of each kind, stored while the model was away."""
    life.house.model.away = True
    stored: dict[MemoryType, UUID] = {
        "episode": await life.house.episode(), "fact": await life.fact(), "rule": await life.house.rule(),
    }  # fmt: skip
    life.house.model.away = False
    return stored


async def test_what_was_stored_without_a_vector_gets_one(life: Life) -> None:
    stored = await without_vectors(life)
    await life.do_jobs()
    for kind, id in stored.items():
        row = await life.house.row(kind, id)
        assert row["embedding_version"] == life.house.model.version
        assert np.linalg.norm(row["embedding"].to_numpy()) == pytest.approx(1.0, abs=1e-5)
    assert await life.open_jobs() == []


async def test_embedding_model_version_recorded(life: Life) -> None:
    await without_vectors(life)
    await life.do_jobs()
    (row,) = await life.house.rows("SELECT * FROM knowledge_embedding_versions")
    assert (row["embedding_version"], row["provider"], row["model"], row["dimensions"]) == (
        "fake:hash:384", "fake", "hash", 384,
    )  # fmt: skip


async def test_each_text_is_embedded_once_by_one_call(life: Life) -> None:
    life.house.model.away = True
    for _ in range(3):
        await life.house.rule("One rule")
    life.house.model.away = False
    calls = counted(life.house.model)
    await life.do_jobs()
    assert calls == [["One rule"]]
    found = await life.house.rows("SELECT FROM knowledge_rules WHERE embedding IS NOT NULL")
    assert len(found) == 3


async def test_what_has_its_vector_by_now_is_not_embedded_again(life: Life) -> None:
    stored = await without_vectors(life)
    await life.do_jobs()
    await life.house.rows("UPDATE knowledge_outbox SET status = 'PENDING'")
    calls = counted(life.house.model)
    await life.do_jobs()
    assert calls == []
    assert await life.open_jobs() == []
    assert len(stored) == 3


async def test_a_vector_of_another_model_is_replaced(life: Life) -> None:
    rule = await life.house.rule()
    await life.house.rows("UPDATE knowledge_rules SET embedding_version = 'old:model:384'")
    await life.house.rows(
        "INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind) VALUES ('acme', 'rule', $1, 'vector')",
        rule,
    )
    await life.do_jobs()
    assert (await life.house.row("rule", rule))["embedding_version"] == life.house.model.version


async def test_a_vector_of_what_a_rule_no_longer_says_is_not_kept(life: Life) -> None:
    rule = (await without_vectors(life))["rule"]
    await life.house.rows("DELETE FROM knowledge_outbox WHERE memory_id <> $1", rule)

    async def invert() -> None:
        life.house.model.before_answer = None
        await life.house.rows(
            life.house.kit.queries["invert_rule"], "acme", rule, "Never ask", "Never ask", None, None
        )

    life.house.model.before_answer = invert
    await life.do_jobs()
    assert life.house.model.texts[-1] == "Never ask"
    (expected,) = await life.house.kit.embedder.embed(["Never ask"])
    assert (await life.house.row("rule", rule))["embedding"] == expected
    assert await life.open_jobs() == []


async def test_re_embed_migration_support(life: Life) -> None:
    stored: list[tuple[MemoryType, UUID]] = [
        ("episode", await life.house.episode()), ("fact", await life.fact()), ("rule", await life.house.rule()),
    ]  # fmt: skip
    await life.forget("fact", await life.fact("gone"))
    await life.forget("rule", await life.house.rule("gone"))
    former, life.house.model.version = life.house.model.version, "fake:newer:384"
    reembedding = Reembedding(life.house.kit, life.house.model.version)
    answer = await reembedding.run(Reembed(), ANA)
    assert (answer.outdated, answer.running) == ({"episode": 1, "fact": 1, "rule": 1}, True)
    await life.do_jobs()
    for kind, id in stored:
        assert (await life.house.row(kind, id))["embedding_version"] == "fake:newer:384"
        assert (await life.house.events(id))[-1] == "reembedded"
    told = await life.house.rows("SELECT payload FROM knowledge_events WHERE event_type = 'reembedded'")
    assert [event["payload"] for event in told] == [{"from": former, "to": "fake:newer:384"}] * 3
    answer = await reembedding.run(Reembed(), ANA)
    assert (answer.outdated, answer.running) == ({"episode": 0, "fact": 0, "rule": 0}, False)


async def test_what_is_erased_or_forgotten_meanwhile_just_ends_its_job(life: Life) -> None:
    stored = await without_vectors(life)
    for kind, id in stored.items():
        await life.forget(kind, id)
    gone = await without_vectors(life)
    await life.house.rows("DELETE FROM knowledge_rules WHERE id = $1", gone["rule"])
    await life.do_jobs()
    for kind, id in stored.items():
        assert (await life.house.row(kind, id))["embedding"] is None
    assert (await life.house.row("fact", gone["fact"]))["embedding"] is not None
    assert await life.open_jobs() == []


async def test_while_the_model_is_away_all_vectors_are_put_off_and_none_is_given_up(life: Life) -> None:
    await without_vectors(life)
    rule = await harmful_rule(life)
    life.house.model.away = True
    jobs = await life.lease()
    with pytest.raises(ProviderUnavailable) as away:
        await life.jobs.handle(jobs)
    assert away.value.concerns_all
    await life.house.kit.outbox.fail(jobs, "away")
    found = await life.house.rows("SELECT kind, status FROM knowledge_outbox ORDER BY kind, status")
    assert [(row["kind"], row["status"]) for row in found] == [
        ("inversion", "DONE"), ("vector", "FAILED"), ("vector", "FAILED"), ("vector", "FAILED"), ("vector", "PENDING"),
    ]  # fmt: skip
    assert (await life.house.row("rule", rule))["maturity"] == "anti_pattern"


async def test_who_lost_its_jobs_changes_nothing(life: Life) -> None:
    stored = await without_vectors(life)
    jobs = await life.lease()
    await life.house.rows("UPDATE knowledge_outbox SET leases = leases + 1")
    with pytest.raises(LeaseLost):
        await life.jobs.handle(jobs)
    for kind, id in stored.items():
        assert (await life.house.row(kind, id))["embedding"] is None


async def test_jobs_that_were_done_a_day_ago_are_dropped(life: Life) -> None:
    await without_vectors(life)
    await life.do_jobs()
    await without_vectors(life)
    (row,) = await life.house.rows("SELECT clock_timestamp() AS now")
    day = timedelta(days=1)
    assert await life.jobs.drop_done(row["now"], 10) == 0
    assert await life.jobs.drop_done(row["now"] + day, 2) == 2
    assert await life.jobs.drop_done(row["now"] + day, 2) == 1
    assert len(await life.open_jobs()) == 3


def counted(model: FakeEmbedder) -> list[list[str]]:
    """The calls of a model from now on."""
    calls: list[list[str]] = []
    embed: Callable[..., Any] = model.embed

    async def embedding(texts: Any) -> Any:
        calls.append(list(texts))
        return await embed(texts)

    model.embed = embedding  # type: ignore[method-assign]
    return calls


@pytest.mark.parametrize("status", ["GIVEN_UP", "DISCARDED"])
async def test_a_vector_that_was_given_up_is_not_asked_for_again_until_the_content_changes(
    life: Life, status: str
) -> None:
    life.house.model.away = True
    rule = await harmful_rule(life)
    fact = await life.fact()
    life.house.model.away = False
    await life.house.rows("UPDATE knowledge_outbox SET status = $1 WHERE kind = 'vector'", status)
    reembedding = Reembedding(life.house.kit, life.house.model.version)
    for version in (life.house.model.version, "fake:newer:384"):
        life.house.model.version = version
        answer = await reembedding.run(Reembed(), ANA)
        assert (answer.outdated["fact"], answer.outdated["rule"], answer.running) == (1, 1, False)
    await life.do_jobs()  # the inversion gives the rule another content, and the vector of that
    jobs = await life.house.rows("SELECT memory_id, kind, status FROM knowledge_outbox ORDER BY kind, status")
    assert [tuple(row) for row in jobs] == [(rule, "inversion", "DONE"), (fact, "vector", status)]
    assert (await life.house.row("fact", fact))["embedding"] is None
    assert (await life.house.row("rule", rule))["embedding"] is not None


@pytest.mark.parametrize("status", ["GIVEN_UP", "DISCARDED"])
async def test_a_job_that_was_given_up_stays_for_as_long_as_its_memory(life: Life, status: str) -> None:
    life.house.model.away = True
    kept, gone = await life.fact("kept"), await life.fact("gone")
    await life.house.rows("UPDATE knowledge_outbox SET status = $1", status)
    await life.house.rows("DELETE FROM knowledge_facts WHERE id = $1", gone)
    jobs = MemoryJobs(life.house.kit)
    in_two_days = datetime.now(UTC) + timedelta(days=2)  # jobs are given up by the clock of the database
    assert await jobs.drop_done(in_two_days, 9) == 1
    rows = await life.house.rows("SELECT memory_id FROM knowledge_outbox")
    assert [row["memory_id"] for row in rows] == [kept]
