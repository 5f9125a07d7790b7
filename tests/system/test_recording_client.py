"""Answers that are recorded and replayed by the client, against the whole service."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import anyio
import pytest

from elf.client import AsyncClient, Client, Forbidden, InvalidRequest, NotFound, StartupError, Unreachable
from elf.client.families.conversations.recording import AsyncRecorder, Recorder, RecordingBroken
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for, write_config


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder, RunningService(
        write_config(folder, cache_dir=f'"{model_folder}"')
    ) as service:  # fmt: skip
        yield service


@pytest.fixture(scope="module")
def address(service: RunningService) -> str:
    return service.grpc_address


@pytest.fixture
def ana(service: RunningService) -> Iterator[Client]:
    with Client(service.url, token=f"ana-{uuid4()}") as client:
        yield client


@pytest.fixture
def talk(ana: Client) -> UUID:
    return ana.conversations.create(title="Trip").id


@pytest.fixture
def recorder(ana: Client, address: str) -> Iterator[Recorder]:
    with Recorder(ana, address) as recorder:
        yield recorder


def begun(recorder: Recorder, talk: UUID) -> tuple[str, Iterator[str]]:
    """Return the first chunk of a replay, and its rest, once the recording has begun."""

    def first() -> tuple[str, Iterator[str]] | None:
        replay = recorder.replay(talk)
        chunk = next(replay, "")
        return (chunk, replay) if chunk else None

    return wait_for(first, "the recording has begun")


def test_what_is_recorded_is_replayed_while_it_is_made(recorder: Recorder, talk: UUID) -> None:
    with recorder.record(talk) as recording:
        assert recording.write("The ferry ")
        heard, replay = begun(recorder, talk)
        assert recording.write("leaves at nine.")
        while len(heard) < len("The ferry leaves at nine."):
            heard += next(replay)
        assert recording.status is None
    assert (heard, "".join(replay)) == ("The ferry leaves at nine.", "")
    assert (recording.status, recording.message) == ("success", "")
    assert [*recorder.replay(talk)] == []


def test_who_records_is_told_that_it_was_stopped(ana: Client, recorder: Recorder, talk: UUID) -> None:
    with recorder.record(talk) as recording:
        recording.write("The ferry ")
        begun(recorder, talk)
        ana.conversations.cancel_response(talk)
        wait_for(lambda: not recording.write("leaves"), "it is told")
    assert recording.status == "cancelled"


def test_an_answer_that_failed_midway_is_broken_to_who_replays(recorder: Recorder, talk: UUID) -> None:
    def fail() -> None:
        with recorder.record(talk) as recording:
            recording.write("The ferry ")
            replays.append(begun(recorder, talk))
            raise RuntimeError("the model failed")

    replays: list[tuple[str, Iterator[str]]] = []
    with pytest.raises(RuntimeError, match="the model failed"):
        fail()
    ((heard, rest),) = replays
    assert heard == "The ferry "
    with pytest.raises(RecordingBroken):
        next(rest)


def test_failures_are_those_of_the_client(ana: Client, recorder: Recorder, address: str, talk: UUID) -> None:
    with pytest.raises(NotFound), recorder.record(uuid4()):
        pass
    with Recorder(ana.within(), "127.0.0.1:1") as away, pytest.raises(Unreachable), away.record(talk):
        pass
    with pytest.raises(InvalidRequest):
        next(recorder.replay("no id"))
    with (
        Client(ana.base_url, token="bob") as other,
        Recorder(other, address) as theirs,
        pytest.raises(Forbidden),
    ):
        next(theirs.replay(talk))


def test_without_its_packages_it_says_what_to_install(ana: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(StartupError, match=r"grpc is not installed: pip install 'elf-memory\[grpc\]'"):
        Recorder(ana, "127.0.0.1:1")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_async_code_records_and_replays(service: RunningService, address: str) -> None:
    async with (
        AsyncClient(service.url, token=f"ana-{uuid4()}") as client,
        AsyncRecorder(client, address) as recorder,
    ):
        talk = (await client.conversations.create()).id
        heard: list[str] = []
        begun = anyio.Event()

        async def listen() -> None:
            while not heard:
                async for chunk in recorder.replay(talk):
                    heard.append(chunk)
                    begun.set()

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            async with recorder.record(talk) as recording:
                assert await recording.write("The ferry ")
                await begun.wait()
                assert await recording.write("leaves.")
        assert ("".join(heard), recording.status) == ("The ferry leaves.", "success")
        with pytest.raises(NotFound):
            async with recorder.record(uuid4()) as lost:
                await lost.write("x")
