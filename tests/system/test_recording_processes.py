"""An answer that one process records, and another one replays and stops: over gRPC and HTTP, up to a SIGKILL."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import grpc
import httpx
import pytest
from google.protobuf.empty_pb2 import Empty

from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.memory_service_pb2_grpc import ResponseRecorderServiceStub
from tests.folders import fresh_folder
from tests.metrics_kit import Page
from tests.system.service import REPO, processes_of, wait_for, write_config
from tests.system.several import SeveralProcesses, split
from tests.system.truth import rows

pytestmark = pytest.mark.timeout(240)  # a bound on hanging

BROKEN_S = 20
"""Within how long after the end of a process those who replay are told, even if it was killed."""
OWN_CONNECTION = [("grpc.use_local_subchannel_pool", 1)]
WRITER = """
import sys
import grpc
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.memory_service_pb2_grpc import ResponseRecorderServiceStub

def said():
    yield pb.RecordRequest(conversation_id=bytes.fromhex(sys.argv[2]), content="half")
    sys.stdin.read()

with grpc.insecure_channel(sys.argv[1]) as channel:
    ResponseRecorderServiceStub(channel).Record(said(), metadata=[("authorization", sys.argv[3])])
"""


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[SeveralProcesses]:
    with fresh_folder() as folder:
        config = split(write_config(folder, cache_dir=f'"{model_folder}"'), "api = 2\nworker = 1")
        with SeveralProcesses(config) as service:
            yield service
            assert service.stop() == 0
        assert processes_of(folder) == []
        assert service.complaints() == []


class User:
    """A user with a conversation."""

    def __init__(self, service: SeveralProcesses) -> None:
        self.service = service
        self.proof = f"Bearer ana-{uuid4().hex}"
        made = httpx.post(f"{service.url}/v1/conversations", json={}, headers=self.headers)
        self.id = UUID(made.json()["id"])

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": self.proof}

    @contextmanager
    def at(self, process: str) -> Iterator[Recorder]:
        """The recorder of a process: the processes share a port, so connections are made until one leads there."""

        def connect() -> Recorder | None:
            recorder = Recorder(self)
            if recorder.process() == process:
                return recorder
            recorder.close()
            return None

        with closing(wait_for(connect, f"a connection leads to {process}")) as recorder:
            yield recorder


class Recorder:
    def __init__(self, user: User) -> None:
        self._user = user
        self._channel = grpc.insecure_channel(user.service.grpc_address, options=OWN_CONNECTION)
        self._stub: Any = ResponseRecorderServiceStub(self._channel)
        self._metadata = [("authorization", user.proof)]

    def close(self) -> None:
        self._channel.close()

    def process(self) -> str:
        """Which process answers: it logs what it refuses."""
        request_id = str(uuid4())
        with pytest.raises(grpc.RpcError):
            self._stub.Cancel(
                pb.CancelRecordRequest(), metadata=[*self._metadata, ("x-request-id", request_id)]
            )
        (line,) = wait_for(
            lambda: self._user.service.events("request", request_id=request_id), "it is logged"
        )
        return str(line["process"])

    def record(self) -> Recording:
        """Begin to record."""
        spoken: queue.SimpleQueue[pb.RecordRequest | None] = queue.SimpleQueue()
        spoken.put(pb.RecordRequest(conversation_id=self._user.id.bytes))
        call = self._stub.Record.future(iter(spoken.get, None), metadata=self._metadata)
        wait_for(self.is_recorded, "it is recorded")
        return Recording(spoken, call)

    def is_recorded(self) -> bool:
        asked = pb.CheckRecordingsRequest(conversation_ids=[self._user.id.bytes])
        answer = self._stub.CheckRecordings(asked, metadata=self._metadata)
        return list(answer.conversation_ids) == [self._user.id.bytes]

    def replay(self) -> Replay:
        asked = pb.ReplayRequest(conversation_id=self._user.id.bytes)
        return Replay(self._stub.Replay(asked, metadata=self._metadata))

    def replay_again(self, *, at_least: str) -> Replay:
        """Replay as soon as Postgres is there to ask who may."""

        def heard() -> Replay | None:
            replay = self.replay()
            try:
                replay.heard(at_least)
            except (grpc.RpcError, StopIteration):
                return None
            return replay

        return wait_for(heard, "it is replayed")

    def is_enabled(self) -> bool:
        return bool(self._stub.IsEnabled(Empty(), metadata=self._metadata).enabled)


class Recording:
    def __init__(self, spoken: queue.SimpleQueue[pb.RecordRequest | None], call: Any) -> None:
        self._spoken = spoken
        self._call = call

    def say(self, text: str) -> None:
        self._spoken.put(pb.RecordRequest(content=text))

    def stop(self) -> None:
        """There is no more."""
        self._spoken.put(None)

    def status(self) -> Any:
        """Wait for its end, and return what the service says of it."""
        return self._call.result(timeout=30).status

    def lost(self) -> None:
        """Wait until the service is gone."""
        with pytest.raises(grpc.RpcError):
            self._call.result(timeout=30)
        self.stop()


class Replay:
    def __init__(self, call: Any) -> None:
        self._call = call
        self.text = ""

    def heard(self, text: str) -> None:
        while not self.text.startswith(text):
            self.text += next(self._call).content

    def rest(self) -> tuple[str, grpc.StatusCode]:
        """Read to the end; return all of it, and how it ended."""
        try:
            for one in self._call:
                self.text += one.content
        except grpc.RpcError as error:
            return self.text, error.code()
        return self.text, self._call.code()


@pytest.fixture
def user(service: SeveralProcesses) -> User:
    return User(service)


def test_what_one_process_records_the_other_replays_from_its_start_and_stops(
    service: SeveralProcesses, user: User
) -> None:
    with user.at("api-1") as here, user.at("api-2") as there, service.connected("api-2") as http:
        assert there.is_enabled()
        recording = here.record()
        recording.say("The ferry ")
        replay = there.replay()
        replay.heard("The ferry ")
        recording.say("is late.")
        replay.heard("The ferry is late.")
        (line,) = service.events("admin_address", process="api-2")
        page = Page(httpx.get(f"http://{line['address']}/metrics").text)
        assert page.value("elf_conversation_streams", kind="replay") == 1
        assert page.value("elf_conversation_streams", kind="recording") == 0
        stopped = http.delete(f"/v1/conversations/{user.id}/response", headers=user.headers)
        assert (stopped.status_code, stopped.content) == (200, b"")
        assert recording.status() == pb.RECORD_STATUS_CANCELLED
        assert replay.rest() == ("The ferry is late.", grpc.StatusCode.OK)
        recording.stop()
        again = there.record()
        again.say("It came.")
        late = here.replay()
        again.stop()
        assert again.status() == pb.RECORD_STATUS_SUCCESS
        assert late.rest() == ("It came.", grpc.StatusCode.OK)
        assert not here.is_recorded()


def test_a_client_that_is_killed_breaks_its_recording_off(service: SeveralProcesses, user: User) -> None:
    with user.at("api-2") as there:
        command = [sys.executable, "-c", WRITER, service.grpc_address, user.id.hex, user.proof]
        with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=REPO) as writer:
            wait_for(there.is_recorded, "it is recorded")
            replay = there.replay()
            replay.heard("half")
            writer.kill()
        assert replay.rest() == ("half", grpc.StatusCode.ABORTED)
        wait_for(lambda: not there.is_recorded(), "it is recorded no longer")


def test_a_recording_outlives_a_postgres_that_is_killed(service: SeveralProcesses, user: User) -> None:
    """Its tables are empty after that."""
    with user.at("api-1") as here, user.at("api-2") as there:
        recording = here.record()
        recording.say("before ")
        replay = there.replay()
        replay.heard("before ")
        service.postmaster().kill()
        recording.say("and ")
        at_home = here.replay_again(at_least="before ")
        replay.heard("before and ")
        recording.say("after")
        recording.stop()
        assert recording.status() == pb.RECORD_STATUS_SUCCESS
        for one in (replay, at_home):
            assert one.rest() == ("before and after", grpc.StatusCode.OK)
        # Whoever followed leaves it a moment after its replays have ended, and it goes with the last.
        wait_for(lambda: recordings_left(service) == 0, "nothing is left of it")


def recordings_left(service: SeveralProcesses) -> int:
    (left,) = rows(service.config.parent, "SELECT count(*) FROM conversation_recordings")
    return int(left["count"])


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_of_a_process_that_ends_the_other_replays_what_it_had_stored(
    service: SeveralProcesses, user: User, number: signal.Signals
) -> None:
    starts = len(service.events("process_ready", process="api-1"))
    with user.at("api-1") as here, user.at("api-2") as there:
        recording = here.record()
        recording.say("half an answer")
        replay = there.replay()
        replay.heard("half an answer")
        ended_at = time.monotonic()
        os.kill(service.pid("api-1"), number)
        late = there.replay()
        for one in (replay, late):
            assert one.rest() == ("half an answer", grpc.StatusCode.ABORTED)
        assert time.monotonic() < ended_at + BROKEN_S
        assert not there.is_recorded()
        recording.lost()
    service.wait_restarted("api-1", times=starts + 1)
    with user.at("api-1") as here, user.at("api-2") as there:
        again = here.record()
        again.say("a whole one")
        replay = there.replay()
        again.stop()
        assert again.status() == pb.RECORD_STATUS_SUCCESS
        assert replay.rest() == ("a whole one", grpc.StatusCode.OK)
