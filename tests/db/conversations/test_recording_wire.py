"""An answer is stopped over HTTP, whoever records it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import httpx
import pytest
from werkzeug.datastructures import Headers

from elf.api.caller import Caller
from elf.families.conversations.api.operations import PATHS
from elf.families.conversations.api.recording import RECORDING
from elf.families.conversations.recording.recorder import NoRecorder, Recorder
from elf.families.conversations.service import ResponseService
from elf.families.conversations.trees import Who
from elf.web.app import create_app
from elf.web.readiness import Readiness
from tests.db.conversations.recording_kit import Process, begun

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def wire(recorder: Recorder, who: Who) -> AsyncIterator[httpx.AsyncClient]:
    async def identify(headers: Headers) -> Caller:
        return Caller(user=headers["X-User"], bound={"tenant_id": who.tenant_id})

    app = create_app(
        RECORDING,
        {operation.name: do for operation, do in ResponseService(recorder).handlers().items()},
        readiness=lambda: Readiness(ready=True, parts=[]),
        identify=identify,
        policies=PATHS,
    )
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app), base_url="http://elf", headers={"X-User": who.user}
    ) as client:
        yield client


async def test_the_answer_of_another_process_is_stopped(
    processes: Sequence[Process], who: Who, id: UUID
) -> None:
    here, there = processes
    recording = here.record(who, id)
    await begun(here, who, id)
    async with wire(there.recorder, who) as client:
        answer = await client.delete(f"/v1/conversations/{id}/response")
        assert (answer.status_code, answer.content) == (200, b"")
        assert await recording.ended() == "cancelled"
        again = await client.delete(f"/v1/conversations/{id}/response")
        assert (again.status_code, again.content) == (200, b"")
        stranger = await client.delete(f"/v1/conversations/{id}/response", headers={"X-User": "bob"})
        assert (stranger.status_code, stranger.json()["code"]) == (403, "forbidden")
        unknown = await client.delete(f"/v1/conversations/{uuid4()}/response")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


async def test_without_a_recorder_there_is_nothing_to_stop(who: Who, id: UUID) -> None:
    async with wire(NoRecorder(), who) as client:
        answer = await client.delete(f"/v1/conversations/{id}/response")
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert "recorder" in answer.json()["details"]["message"]
