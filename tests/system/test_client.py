"""The client against a running service, sync and async, and the examples of its documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from elf.client import (
    AsyncClient,
    Client,
    InvalidRequest,
    Message,
    NewNote,
    NonEnglishInput,
    NotFound,
    PayloadTooLarge,
    ScopeDenied,
    results,
)
from elf.client.errors import ServiceError
from tests.system.service import REPO, RunningService, wait_for

pytestmark = pytest.mark.anyio

TEXTS = [
    "The cat sleeps on the red sofa.",
    "Invoices are paid on Mondays.",
    "The server room is in the basement.",
]


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(service: RunningService, tenant: str) -> Iterator[Client]:
    context = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "read_profile": "all_scopes"}
    with Client(service.url) as client:
        yield client.within(**context)


def explained(client: Client, handle: UUID) -> results.ExplainedItem:
    """Explain a result, once its trace is stored."""

    def look() -> results.ExplainedItem | None:
        try:
            return client.explain(handle)
        except InvalidRequest:
            return None

    return wait_for(look, "the trace is stored")


def test_a_note_is_written_found_explained_changed_and_brought_back(client: Client) -> None:
    added = client.add_note(TEXTS[0], key="cat", importance=0.7, source_ref={"chat": 3})
    assert (
        added.op,
        client.add_note(TEXTS[0], key="cat", importance=0.7, source_ref={"chat": 3}).op,
    ) == (
        "ADD",
        "NONE",
    )
    assert added.note_id is not None

    found = client.search("Where does the cat sleep?", top_k=1)
    (item,) = found.items
    assert (item.note_id, item.snippet, item.source_ref, found.degraded) == (
        added.note_id,
        TEXTS[0],
        {"chat": 3},
        [],
    )
    why = explained(client, item.result_handle)
    assert (why.item.rank, why.item.explain) == (1, item.explain)
    assert [trace.trace_id for trace in client.traces()] == [found.trace_id]
    assert client.trace(found.trace_id).items == [why.item]

    assert client.update(added.note_id, importance=0.9).op == "UPDATE"
    assert client.get(added.note_id).importance == pytest.approx(0.9)
    assert client.delete(added.note_id).op == "DELETE"
    assert client.get(added.note_id).status == "deleted"
    first = list(client.history(added.note_id, limit=1))[-1]
    assert [version.op for version in client.history(added.note_id)] == ["DELETE", "UPDATE", "ADD"]
    assert client.restore(added.note_id, version_id=first.version_id).version_id == first.version_id
    assert client.get(added.note_id).importance == pytest.approx(0.7)


def test_an_event_says_what_was_extracted_and_what_became_of_it(client: Client) -> None:
    message = Message(role="user", content="My name is Dana. We decided to use Postgres 18.", msg_id="1")
    dry = client.add_event([message], dry_run=True)
    assert [result.op for result in dry.results] == ["ADD"] * len(dry.extracted) != []
    assert list(client.list(scope="agent_private")) == []
    assert [result.op for result in client.add_event([message], scope="agent_private").results] == [
        "ADD"
    ] * len(dry.extracted)
    assert len(list(client.list(scope="agent_private"))) == len(dry.extracted)


def test_a_listing_that_takes_several_pages_gives_each_note_once(client: Client) -> None:
    client.add_notes([NewNote(text=text, key=text) for text in TEXTS], scope="project_shared")
    notes = list(client.list(limit=1))
    assert sorted(note.text for note in notes) == sorted(TEXTS)
    assert [note.note_id for note in client.list()] == [note.note_id for note in notes]
    assert list(client.within(project_id="other").list()) == []


def nobodys(url: str) -> None:
    with Client(url) as client:
        client.search("tea")


FAULTS: list[tuple[type[ServiceError], Callable[[Client], Any], tuple[str, ...]]] = [
    (NotFound, lambda client: client.get(uuid4()), ("note_id",)),
    (NonEnglishInput, lambda client: client.search("tea \u8336"), ("query",)),
    (InvalidRequest, lambda client: client.search("tea", top_k=0), ("top_k",)),
    (InvalidRequest, lambda client: client.within(read_profile="none").search("tea"), ("read_profile",)),
    (
        InvalidRequest,
        lambda client: client.add_notes([{"text": "tea"}, {"txt": "tea"}]),
        ("notes[1].text", "notes[1].txt"),
    ),
    (InvalidRequest, lambda client: client.get("no id"), ("note_id",)),
    (ScopeDenied, lambda client: list(client.list(scope="none")), ("scope",)),
    (InvalidRequest, lambda client: client.add_note("x", importance=2.0), ("importance",)),
    (
        InvalidRequest,
        lambda client: nobodys(client.base_url),
        ("tenant_id", "project_id", "agent_id"),
    ),
    (InvalidRequest, lambda client: client.search("x", top_k=5, candidate_k=3), ()),
    (PayloadTooLarge, lambda client: client.add_note("x" * 2_000_000), ()),
]


@pytest.mark.parametrize(("kind", "act", "fields"), FAULTS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_refusal_is_an_error_of_its_kind_with_the_paths_at_fault(
    client: Client, kind: type[ServiceError], act: Callable[[Client], Any], fields: tuple[str, ...]
) -> None:
    with pytest.raises(kind) as caught:
        act(client)
    assert caught.value.fields[: len(fields)] == fields
    assert "$" not in str(caught.value)


def test_a_request_is_found_in_the_log_by_the_id_that_its_error_carries(
    client: Client, service: RunningService
) -> None:
    with pytest.raises(NotFound) as caught:
        client.get(uuid4())
    (note,) = caught.value.__notes__
    wait_for(lambda: service.events("request", request_id=note.removeprefix("request ")), "the log has it")


async def test_the_async_client_sees_what_the_sync_one_sees(client: Client, service: RunningService) -> None:
    async with AsyncClient(
        service.url,
        tenant_id=client.calls.tenant_id,
        project_id="p",
        agent_id="a",
        read_profile="all_scopes",
    ) as async_client:
        added = await async_client.add_notes(
            [{"type": "fact", "text": text, "importance": 0.5, "confidence": 1} for text in TEXTS]
        )
        assert {result.op for result in added} == {"ADD"}
        listed = [note async for note in async_client.list(scope="agent_private", limit=2)]
        assert listed == list(client.list(scope="agent_private"))
        assert len(listed) == 3
        (item,) = (await async_client.search("invoices", top_k=1)).items
        assert item.note_id == added[1].note_id
        assert (await async_client.ready()).ready
        with pytest.raises(NotFound):
            await async_client.update(uuid4(), text="x")


def examples() -> list[str]:
    text = (REPO / "docs" / "client.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)


def test_the_documented_examples_run(
    service: RunningService, tenant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    remembered: dict[str, object] = {"__name__": "example"}
    for example in examples():
        if "local(" in example:  # tried where a service is started anyway
            continue
        code = example.replace("http://127.0.0.1:8765", service.url).replace("acme", tenant.replace('"', ""))
        exec(compile(code, "docs/client.md", "exec"), remembered)
    for name in ("memory", "patient", "hasty"):
        kept = remembered[name]
        assert isinstance(kept, Client)
        kept.close()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("ADD ")
    assert "Preference: Ana wants answers in English." in printed[1]
    assert printed[2] == "['Fact: Ana works in Lisbon.', 'Plan: Ana flies to Oslo on Monday.']"
    assert printed[3] == "[True, True] ['Profile: My name is Ana.', 'Preference: I prefer tea to coffee.']"
    assert "('query',)" in printed
    listed = printed[printed.index("True True") + 1 :]
    assert listed[0] == "Plan: The launch is on Friday."
    assert "Decision: We use Postgres 18." in listed
