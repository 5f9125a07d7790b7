"""Explaining searches: whoever has the handle learns why; nobody learns what another agent asked."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from elf.core.errors import InvalidRequest, NotFound
from elf.db.database import Database
from elf.families.notes.api.trace_requests import ExplainRequest, TraceRequest, TracesRequest
from elf.families.notes.keeping.queries import note_queries
from elf.families.notes.reading.explain import SearchExplainer
from elf.search.trace import SearchTrace
from elf.search.trace_store import Payload, TraceStore
from tests.notes_kit import NOW, TurnedClock
from tests.traces_kit import a_dropped, a_trace, an_item

pytestmark = pytest.mark.anyio

OWNER = {"tenant_id": "acme", "project_id": "alpha", "agent_id": "anna"}
OTHERS = [{"tenant_id": "other"}, {"project_id": "other"}, {"agent_id": "bob"}]


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def explainer(store: TraceStore, database: Database, clock: TurnedClock) -> SearchExplainer:
    queries = note_queries()
    return SearchExplainer(traces=store, database=database, queries=queries, clock=clock)


async def keep(store: TraceStore, *traces: SearchTrace) -> None:
    await store.write(await store.enqueue([Payload.of(trace) for trace in traces]))


async def put_note(database: Database, note_id: UUID, scope: str) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "INSERT INTO memory_notes (note_id, tenant_id, project_id, agent_id, scope, type, text, importance,"
            " confidence, status, created_at, updated_at, embedding_version, source_ref)"
            " VALUES ($1, 'acme', 'alpha', 'anna', $2, 'fact', 'tea', 0.5, 0.5, 'active', $3, $3, 'v', '{}')",
            note_id, scope, NOW,
        )  # fmt: skip


def asks(handle: UUID, **context: str) -> ExplainRequest:
    return ExplainRequest(result_handle=handle, **context)


# One result


async def test_a_result_is_explained_among_the_others_and_those_that_are_none(
    store: TraceStore, explainer: SearchExplainer
) -> None:
    items = [an_item(rank) for rank in (1, 2, 3)]
    dropped = [a_dropped("BELOW_TOP_K", final_score=0.01), a_dropped("NOT_LIVE")]
    trace = a_trace(items=items, dropped=dropped, degraded=["rerank"], top_k=3)
    await keep(store, trace, a_trace())
    answer = await explainer.explain(asks(items[1].item_id, **OWNER))
    assert (answer.item.result_handle, answer.item.note_id, answer.item.rank) == (
        items[1].item_id, items[1].subject_id, 2,
    )  # fmt: skip
    assert [item.rank for item in answer.other_items] == [1, 3]
    assert answer.trace.trace_id == trace.trace_id
    assert (answer.trace.query, answer.trace.degraded) == ("hot tea", ["rerank"])
    assert [(stage.name, stage.ms) for stage in answer.trace.stages] == list(trace.stages)
    assert [(one.note_id, one.stage, one.reason_code) for one in answer.dropped] == [
        (dropped[0].subject_id, "top_k", "BELOW_TOP_K"), (dropped[1].subject_id, "revalidation", "NOT_LIVE"),
    ]  # fmt: skip
    last = items[-1].final_score
    assert answer.dropped[0].reason == f"scored 0.010000, the last of the 3 results {last:.6f}"


async def test_the_boosts_of_an_explained_result_add_up_to_its_final_score(
    store: TraceStore, explainer: SearchExplainer
) -> None:
    items = [an_item(rank) for rank in range(1, 13)]
    await keep(store, a_trace(items=items))
    for item in items:
        why = (await explainer.explain(asks(item.item_id, **OWNER))).item.explain
        assert sum(boost.score for boost in why.boosts) == pytest.approx(why.final_score, abs=1e-6, rel=0)
        assert why.final_score == item.final_score
        assert [boost.name for boost in why.boosts] == ["rerank", "retrieval", "recency_importance"]


async def test_the_whole_context_opens_a_result_whatever_note_it_is(
    store: TraceStore, explainer: SearchExplainer
) -> None:
    trace = a_trace()
    await keep(store, trace)
    handle = trace.items[0].item_id
    answer = await explainer.explain(asks(handle, **OWNER))
    assert (answer.item.result_handle, len(answer.other_items), len(answer.dropped)) == (handle, 1, 1)


async def test_what_is_told_of_a_note_has_its_text_while_there_is_one(
    store: TraceStore, explainer: SearchExplainer, database: Database
) -> None:
    items, left_out = [an_item(1), an_item(2)], [a_dropped(), a_dropped()]
    for found in (items[0], left_out[0]):
        await put_note(database, found.subject_id, "agent_private")
    trace = a_trace(items=items, dropped=left_out)
    await keep(store, trace)
    answer = await explainer.explain(asks(items[0].item_id, **OWNER))
    assert [one.text for one in (answer.item, *answer.other_items, *answer.dropped)] == [
        "tea",
        None,
        "tea",
        None,
    ]
    whole = await explainer.trace(TraceRequest(trace_id=trace.trace_id, **OWNER))
    assert [one.text for one in (*whole.items, *whole.dropped)] == ["tea", None, "tea", None]


@pytest.mark.parametrize("missing", [[*OWNER], *([name] for name in OWNER)])
async def test_without_the_whole_context_a_handle_tells_of_shared_notes_alone(
    store: TraceStore, explainer: SearchExplainer, database: Database, missing: list[str]
) -> None:
    items = [an_item(rank) for rank in (1, 2, 3, 4)]
    left_out = [a_dropped(), a_dropped(), a_dropped()]
    scopes = ("project_shared", "agent_private", "org_shared")  # and a note that is gone
    for found, scope in (*zip(items, scopes, strict=False), *zip(left_out, scopes, strict=False)):
        await put_note(database, found.subject_id, scope)
    await keep(store, a_trace(items=items, dropped=left_out))
    context = {name: value for name, value in OWNER.items() if name not in missing}
    answer = await explainer.explain(asks(items[0].item_id, **context))
    assert [item.note_id for item in answer.other_items] == [items[2].subject_id]
    assert [one.note_id for one in answer.dropped] == [left_out[0].subject_id, left_out[2].subject_id]
    for hidden in (items[1], items[3]):
        with pytest.raises(InvalidRequest) as caught:
            await explainer.explain(asks(hidden.item_id, **context))
        assert caught.value.fields == ("$.result_handle",)


@pytest.mark.parametrize("other", OTHERS)
async def test_another_context_and_an_unknown_handle_get_the_same_answer(
    store: TraceStore, explainer: SearchExplainer, other: dict[str, str]
) -> None:
    trace = a_trace()
    await keep(store, trace)
    messages = []
    for handle in (trace.items[0].item_id, uuid4()):
        with pytest.raises(InvalidRequest) as caught:
            await explainer.explain(asks(handle, **(OWNER | other)))
        assert caught.value.fields == ("$.result_handle",)
        messages.append(caught.value.message.replace(str(handle), ""))
    assert messages[0] == messages[1]
    assert "has not been stored yet" in messages[0]


async def test_a_trace_that_is_still_in_the_outbox_is_not_known_yet(
    store: TraceStore, explainer: SearchExplainer
) -> None:
    trace = a_trace()
    jobs = await store.enqueue([Payload.of(trace)])
    with pytest.raises(InvalidRequest):
        await explainer.explain(asks(trace.items[0].item_id, **OWNER))
    await store.write(jobs)
    await explainer.explain(asks(trace.items[0].item_id, **OWNER))


async def test_what_a_purge_took_is_missing_and_the_rest_is_explained(
    store: TraceStore, explainer: SearchExplainer, database: Database
) -> None:
    trace = a_trace()
    await keep(store, trace)
    async with database.connection() as connection:
        await connection.execute(
            "DELETE FROM search_trace_items WHERE note_id = $1", trace.items[0].subject_id
        )
    assert (await explainer.explain(asks(trace.items[1].item_id, **OWNER))).other_items == []
    with pytest.raises(InvalidRequest):
        await explainer.explain(asks(trace.items[0].item_id, **OWNER))


# One trace


async def test_a_trace_is_read_whole(store: TraceStore, explainer: SearchExplainer) -> None:
    trace = a_trace()
    await keep(store, trace)
    answer = await explainer.trace(TraceRequest(**OWNER, trace_id=trace.trace_id))
    assert [item.result_handle for item in answer.items] == [item.item_id for item in trace.items]
    assert answer.trace.config_snapshot == trace.config_snapshot
    assert len(answer.dropped) == 1


@pytest.mark.parametrize("other", [*OTHERS, {"trace_id": uuid4()}])
async def test_a_trace_of_another_context_is_not_found(
    store: TraceStore, explainer: SearchExplainer, other: dict[str, Any]
) -> None:
    trace = a_trace()
    await keep(store, trace)
    with pytest.raises(NotFound) as caught:
        await explainer.trace(TraceRequest(**({**OWNER, "trace_id": trace.trace_id} | other)))
    assert caught.value.fields == ("$.trace_id",)


# A listing


async def test_an_agent_lists_its_own_searches_newest_first_page_by_page(
    store: TraceStore, explainer: SearchExplainer
) -> None:
    own = [
        a_trace(created_at=NOW + timedelta(seconds=second // 2), query=f"q{second}") for second in range(5)
    ]
    await keep(store, *own, *[a_trace(**other) for other in OTHERS])
    seen, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = await explainer.page(TracesRequest(**OWNER, limit=2, cursor=cursor))
        seen += page.items
        cursor, pages = page.next_cursor, pages + 1
    assert pages == 3
    assert [item.trace_id for item in seen] == [
        trace.trace_id for trace in sorted(own, key=lambda one: (one.created_at, one.trace_id), reverse=True)
    ]
    assert {item.result_count for item in seen} == {2}


async def test_expired_searches_are_not_listed(
    store: TraceStore, explainer: SearchExplainer, clock: TurnedClock
) -> None:
    await keep(store, a_trace(), a_trace(expires_at=NOW + timedelta(days=30)))
    clock.turn(days=7)
    page = await explainer.page(TracesRequest(**OWNER))
    assert len(page.items) == 1
    assert page.next_cursor is None


async def test_a_cursor_of_nowhere_is_refused(explainer: SearchExplainer) -> None:
    with pytest.raises(InvalidRequest):
        await explainer.page(TracesRequest(**OWNER, cursor="nowhere"))


async def test_what_was_found_in_another_family_is_unknown_here(
    store: TraceStore, explainer: SearchExplainer
) -> None:
    trace = a_trace(family="knowledge")
    await keep(store, trace)
    with pytest.raises(InvalidRequest):
        await explainer.explain(asks(trace.items[0].item_id, **OWNER))
    with pytest.raises(NotFound):
        await explainer.trace(TraceRequest(trace_id=trace.trace_id, **OWNER))
    assert (await explainer.page(TracesRequest(**OWNER))).items == []
    assert await store.trace("knowledge", trace.trace_id, now=NOW) is not None
