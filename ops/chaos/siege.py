#!/usr/bin/env python3
"""Besiege a service with inputs that are made to stop it, while somebody else works with it as usual.

    python -m ops.chaos.siege --list
    python -m ops.chaos.siege [--mode off|required ...] [--only REGEX] [--calm-s 15]

Starts a service with all families, and an empty one beside it to compare with. First a second tenant works alone
(writes, searches, recalls, gRPC calls), then while the inputs come: texts of megabytes, requests whose cost would be a
product of two sizes, bodies that stop halfway, requests that are none, streams and calls of gRPC in plenty, and events
of many owners for a webhook that nobody answers. For each mode of [security.auth] it has to hold that

- the second tenant sees no error, and its p95 is at most 5 times what it was alone, or 250 ms;
- the 99.9th percentile of /health, asked every 20 ms, is at most 250 ms above that of the empty service, and no more
  than 3 answers take 500 ms longer;
- the memory of all processes (PSS, every 2 s) stays below 1.5 GB;
- the service is the same process all the time, stops within 10 s, and is ready again, with the same data, within 1.5
  times what it took before.

Prints the figures; exits with 1 where something does not hold. Needs Linux.
"""

from __future__ import annotations

import argparse
import http.client
import re
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import grpc
import httpx
import psutil
from grpc_health.v1.health_pb2 import HealthCheckRequest
from grpc_health.v1.health_pb2_grpc import HealthStub
from grpc_reflection.v1alpha.reflection_pb2 import ServerReflectionRequest
from grpc_reflection.v1alpha.reflection_pb2_grpc import ServerReflectionStub

from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.memory_service_pb2_grpc import (
    ConversationsServiceStub,
    ResponseRecorderServiceStub,
)
from ops.chaos import broken_requests as broken
from ops.chaos.hostile_requests import hostile_requests, send
from ops.chaos.webhook_backlog import config_for, fill, waiting
from tests.families.identities import FREE, Identities, Identity
from tests.folders import fresh_folder
from tests.keys_kit import without_auth
from tests.system.planting import dsn_of
from tests.system.service import RunningService, add_body, note, search_body, write_config

MODES: Final = ("off", "required")
MALLORY: Final = Identity("token", user="mallory", role="user")
BOB: Final = Identity("token", user="bob", role="user")
SAMPLE_S: Final = 0.02
MEMORY_EVERY_S: Final = 2.0
PAUSE_S: Final = 0.05  # of the second tenant, between two requests
MOST_MEMORY_MB: Final = 1500.0
MOST_STOP_S: Final = 10.0
STREAMS: Final = 1000
RECORDINGS: Final = 256
OWNERS: Final = 20_000
NOBODY: Final = 9  # a port at which nothing listens
TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Target:
    """A running service, and how its callers prove who they are: by nothing where it asks nobody."""

    service: RunningService
    identities: Identities | None

    def headers(self, who: Identity, tenant: str) -> dict[str, str]:
        if self.identities is not None:
            return dict(self.identities.headers(who, {"tenant_id": tenant}))
        return {"Authorization": f"Bearer {who.user}-{tenant}"} if who.user else {}

    def metadata(self, who: Identity, tenant: str) -> list[tuple[str, str]]:
        return [(name.lower(), value) for name, value in self.headers(who, tenant).items()]

    def channel(self) -> grpc.Channel:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_send_message_length", 64 << 20)]
        return grpc.insecure_channel(self.service.grpc_address, options=options)


@dataclass(frozen=True, slots=True)
class Input:
    """Something that a hostile client sends; `strike` returns how it was answered, in a few words."""

    name: str
    strike: Callable[[Target], str]


def inputs() -> Iterator[Input]:
    """Yield all inputs in the order in which they are sent."""
    yield Input("an entry of 'sig=' 1,700,000 times", lambda at: _entries(at, ["sig=" * 1_700_000]))
    yield Input("an entry of 7 MB of prose", lambda at: _entries(at, ["A cat sat on the mat. " * 318_000]))
    yield Input("12 entries of 1 MB", lambda at: _entries(at, ["An owl is up at night. " * 43_000] * 12))
    yield Input("an entry of 7 MB of emoji", lambda at: _entries(at, ["\U0001f642" * 1_750_000]))
    yield Input("an episode of 1 MB", _episode)
    for one in hostile_requests("names"):
        yield Input(one.name, lambda at, name=one.name: _hostile(at, name))  # type: ignore[misc]
    yield from broken_inputs()
    yield Input(f"events of {OWNERS} owners for a webhook that nobody answers", _backlog)
    yield Input(f"{STREAMS} Watch streams of nobody", _watches)
    yield Input(f"{RECORDINGS} reflection streams of nobody", _reflections)
    yield Input(f"{STREAMS} calls with a wrong key", _wrong_keys)
    yield Input(f"{RECORDINGS} recordings of one user", _recordings)


def broken_inputs() -> Iterator[Input]:
    """Yield requests that no client of HTTP would send, and bodies that do not arrive."""

    def public(strike: Callable[[str, Mapping[str, str]], str]) -> Callable[[Target], str]:
        return lambda at: strike(at.service.url, at.headers(MALLORY, "hostile"))

    yield Input(f"{broken.HALVES} half-sent bodies of 7 MiB", public(broken.half_sent))
    yield Input(
        f"{broken.STREAMS} half-sent bodies of 7 MiB over HTTP/2", public(broken.half_sent_over_http_2)
    )
    yield Input("targets and lengths that are none", public(broken.broken_targets))
    yield Input(f"{broken.OFFERS} requests in a row that offer another protocol", public(broken.offers))
    yield Input("hosts that are part of another one", public(broken.broken_hosts))
    yield Input(
        "64 MiB to MCP", lambda at: broken.large_body(at.service.mcp_url, at.headers(MALLORY, "hostile"))
    )


def _entries(at: Target, texts: Sequence[str]) -> str:
    statuses: Counter[int] = Counter()
    headers = at.headers(MALLORY, "hostile")
    with httpx.Client(base_url=at.service.url, headers=headers, timeout=TIMEOUT_S) as http:
        home = http.post("/v1/conversations", json={}).raise_for_status().json()["id"]
        for text in texts:
            body = {"contentType": "history", "content": [{"text": text}]}
            statuses[http.post(f"/v1/conversations/{home}/entries", json=body).status_code] += 1
    return _told(statuses)


def _backlog(at: Target) -> str:
    dsn = dsn_of(at.service)
    anyio.run(fill, dsn, OWNERS, 1)
    return f"{anyio.run(waiting, dsn)} wait"


def _episode(at: Target) -> str:
    body = {"tenant_id": "hostile", "butler": "jeeves", "content": "The owl is up at night. " * 41_000}
    with httpx.Client(base_url=at.service.url, timeout=TIMEOUT_S) as http:
        answer = http.post("/v1/knowledge/episodes", json=body, headers=at.headers(MALLORY, "hostile"))
    return _told(Counter([answer.status_code]))


def _hostile(at: Target, name: str) -> str:
    (one,) = (one for one in hostile_requests("hostile") if one.name == name)
    who = MALLORY if one.front == "public" else FREE
    proof = {} if at.identities is None else at.headers(who, "hostile")
    with (
        httpx.Client(base_url=at.service.url, timeout=TIMEOUT_S) as users,
        httpx.Client(base_url=at.service.admin_url, timeout=TIMEOUT_S) as operators,
    ):
        for client in (users, operators):
            client.headers.update(proof)
        asked = one if not proof else _without_proof(one)
        return _told(Counter([send(asked, {"public": users, "admin": operators}).status_code]))


def _without_proof(one: Any) -> Any:
    headers = {name: value for name, value in one.headers.items() if name.lower() != "authorization"}
    return replace(one, headers=headers)


def _watches(at: Target) -> str:
    with at.channel() as channel:
        calls = [HealthStub(channel).Watch(HealthCheckRequest()) for _ in range(STREAMS)]
        opened = sum(_is_open(call) for call in calls)
        for call in calls:
            call.cancel()
    return f"{opened} open"


def _reflections(at: Target) -> str:
    done = threading.Event()

    def asks() -> Iterator[ServerReflectionRequest]:
        yield ServerReflectionRequest(list_services="")
        done.wait()

    with at.channel() as channel:
        stub = ServerReflectionStub(channel)
        calls = [stub.ServerReflectionInfo(asks()) for _ in range(RECORDINGS)]
        opened = sum(_is_open(call) for call in calls)
        done.set()
        for call in calls:
            call.cancel()
    return f"{opened} open"


def _wrong_keys(at: Target) -> str:
    codes: Counter[str] = Counter()
    with at.channel() as channel:
        stub = ConversationsServiceStub(channel)
        metadata = [("x-api-key", "elf_wrong")]
        calls = [
            stub.ListConversations.future(pb.ListConversationsRequest(), metadata=metadata)
            for _ in range(STREAMS)
        ]
        codes.update(call.code().name for call in calls if call.exception() or True)
    return _told(codes)


def _recordings(at: Target) -> str:
    """Begin recordings that do not end, and count those that are not refused."""
    metadata = at.metadata(MALLORY, "hostile")
    done = threading.Event()

    def content(id: bytes) -> Iterator[pb.RecordRequest]:
        yield pb.RecordRequest(conversation_id=id, content="and then")
        done.wait()

    with at.channel() as channel:
        made = ConversationsServiceStub(channel)
        ids = [
            made.CreateConversation(pb.CreateConversationRequest(), metadata=metadata).id
            for _ in range(RECORDINGS)
        ]
        recorder = ResponseRecorderServiceStub(channel)
        calls = [recorder.Record.future(content(id), metadata=metadata) for id in ids]
        begun = 0
        deadline = time.monotonic() + TIMEOUT_S
        while begun + sum(call.done() for call in calls) < RECORDINGS and time.monotonic() < deadline:
            asked = pb.CheckRecordingsRequest(conversation_ids=ids)
            begun = len(recorder.CheckRecordings(asked, metadata=metadata).conversation_ids)
        done.set()
        for call in calls:
            call.cancel()
    return f"{begun} begun"


def _is_open(call: Any) -> bool:
    try:
        next(call)
    except grpc.RpcError:
        return False
    return True


def _told(answers: Mapping[Any, int]) -> str:
    return ", ".join(f"{count} x {answer}" for answer, count in answers.items())


# Who works as usual, and what is measured


@contextmanager
def _in_a_thread(work: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do some work until the event that it is given is set, which it is at the end of the block."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


@dataclass
class Worker:
    """A second tenant that writes, searches, recalls and calls gRPC, one after the other; a context manager."""

    target: Target
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with _in_a_thread(self._work):
            yield

    def _work(self, stop: threading.Event) -> None:
        headers = self.target.headers(BOB, "second")
        metadata = self.target.metadata(BOB, "second")
        with (
            httpx.Client(base_url=self.target.service.url, headers=headers, timeout=TIMEOUT_S) as http,
            self.target.channel() as channel,
        ):
            place = {"project_id": "bob"} if self.target.identities else {}
            stub = ConversationsServiceStub(channel)
            recall = {
                "tenant_id": "second", "user_id": "bob", "project_id": "p", "agent_id": "a", "query": "When is tea?",
            }  # fmt: skip
            number = 0
            while not stop.is_set():
                number += 1
                added = add_body("second", note(f"Fact: tea number {number} is at noon."), **place)
                self._time("add_note", partial(http.post, "/v1/memory/add_note", json=added))
                search = search_body("second", "When is tea?") | place
                self._time("search", partial(http.post, "/v1/memory/search", json=search))
                self._time("recall", partial(http.post, "/v1/recall", json=recall | place))
                asked = pb.CreateConversationRequest(title="tea")
                called = partial(stub.CreateConversation, asked, metadata=metadata, timeout=TIMEOUT_S)
                self._time("gRPC", called)
                stop.wait(PAUSE_S)

    def _time(self, name: str, ask: Callable[[], Any]) -> None:
        began = time.monotonic()
        try:
            answer = ask()
        except (httpx.HTTPError, grpc.RpcError) as error:
            self.errors.append(f"{name}: {type(error).__name__}: {str(error)[:200]}")
            return
        self.seconds.append(time.monotonic() - began)
        if isinstance(answer, httpx.Response) and not answer.is_success:
            self.errors.append(f"{name}: {answer.status_code} {answer.text[:200]}")

    @property
    def p95_ms(self) -> float:
        return statistics.quantiles(self.seconds, n=20)[-1] * 1000


class Health:
    """Asks a service for /health every 20 ms, for as long as the block lasts; times are in ms."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=TIMEOUT_S)
        self.ms: list[float] = []

    @contextmanager
    def sampled(self) -> Iterator[None]:
        with _in_a_thread(self._sample):
            yield

    def _sample(self, stop: threading.Event) -> None:
        while not stop.wait(SAMPLE_S):
            began = time.monotonic()
            try:
                self._connection.request("GET", "/health")
                self._connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                self._connection.close()  # the next request opens it again
            self.ms.append((time.monotonic() - began) * 1000)

    def percentile(self, share: float) -> float:
        return sorted(self.ms)[min(len(self.ms) - 1, int(share * len(self.ms)))]


class Memory:
    """The proportional set size of a service's processes in MB, looked at every 2 s."""

    def __init__(self, service: RunningService) -> None:
        self._roots = [psutil.Process(service.process.pid), service.postmaster()]
        self.most_mb = 0.0

    @contextmanager
    def sampled(self) -> Iterator[None]:
        with _in_a_thread(self._sample):
            yield

    def _sample(self, stop: threading.Event) -> None:
        while not stop.wait(MEMORY_EVERY_S):
            self.most_mb = max(self.most_mb, self._now())

    def _now(self) -> float:
        processes = {one for root in self._roots for one in (root, *root.children(recursive=True))}
        return sum(_pss_mb(one) for one in processes)


def _pss_mb(process: psutil.Process) -> float:
    try:
        text = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
    except OSError:  # it has ended
        return 0.0
    return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) / 1024  # type: ignore[index]


def besiege(mode: str, chosen: Sequence[Input], *, calm_s: float) -> list[str]:
    """Do it all in one mode; returns what does not hold."""
    with fresh_folder() as folder, fresh_folder() as other:
        identities = None if mode == "off" else Identities([MALLORY, BOB])
        config = config_for(folder, NOBODY)
        if identities is not None:
            config.write_text(without_auth(config.read_text()) + identities.config(folder), encoding="utf-8")
        usual_s = [_started_and_stopped(config) for _ in range(3)][1:]  # the first one makes the data
        with RunningService(config) as service, RunningService(write_config(other)) as empty:
            faults = _besieged(Target(service, identities), empty, chosen, calm_s=calm_s)
            began = time.monotonic()
            code = service.stop(timeout_s=TIMEOUT_S)
            stopped_s = time.monotonic() - began
        began = time.monotonic()
        with RunningService(config):
            ready_s = time.monotonic() - began
    most_s = 1.5 * statistics.median(usual_s)
    print(
        f"stopped with {code} in {stopped_s:.1f} s, ready again in {ready_s:.1f} s (usually {most_s / 1.5:.1f} s)"
    )
    if code != 0 or stopped_s > MOST_STOP_S:
        faults.append(f"it stops with {code} in {stopped_s:.1f} s")
    if ready_s > most_s:
        faults.append(f"it is ready again in {ready_s:.1f} s")
    return faults


def _started_and_stopped(config: Path) -> float:
    began = time.monotonic()
    with RunningService(config):
        return time.monotonic() - began


def _besieged(target: Target, empty: RunningService, chosen: Sequence[Input], *, calm_s: float) -> list[str]:
    alone, besieged = Worker(target), Worker(target)
    with alone.at_work():
        time.sleep(calm_s)
    health, compared = Health(target.service.url), Health(empty.url)
    memory = Memory(target.service)
    with health.sampled(), compared.sampled(), memory.sampled(), besieged.at_work():
        for one in chosen:
            began = time.monotonic()
            told = one.strike(target)
            print(f"{time.monotonic() - began:7.2f} s  {one.name}: {told}", flush=True)
        time.sleep(calm_s)  # the background work that the inputs have left
    pid = target.service.process.poll()
    above = health.percentile(0.999) - compared.percentile(0.999)
    pauses = sum(ms > compared.percentile(0.999) + 500 for ms in health.ms)
    most_ms = max(5 * alone.p95_ms, 250.0)
    print(
        f"second tenant: {len(besieged.seconds)} requests, {len(besieged.errors)} errors, "
        f"p95 {besieged.p95_ms:.0f} ms, alone {alone.p95_ms:.0f} ms"
    )
    print(
        f"health: {len(health.ms)} samples, p99.9 {health.percentile(0.999):.0f} ms, {pauses} long pauses; "
        f"of the empty service {compared.percentile(0.999):.0f} ms"
    )
    print(f"memory: {memory.most_mb:.0f} MB at most")
    held = {
        f"the second tenant sees errors: {besieged.errors[:5]}": not besieged.errors and not alone.errors,
        f"its p95 is {besieged.p95_ms:.0f} ms, and may be {most_ms:.0f}": besieged.p95_ms <= most_ms,
        f"/health is {above:.0f} ms above the empty service at p99.9": above <= 250,
        f"/health pauses {pauses} times": pauses <= 3,
        f"the memory is {memory.most_mb:.0f} MB": memory.most_mb < MOST_MEMORY_MB,
        "the service ended": pid is None,
    }
    return [fault for fault, is_held in held.items() if not is_held]


def main() -> int:
    """Besiege a service in each mode; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--list", action="store_true", help="print the names of the inputs, and send none")
    parser.add_argument("--mode", choices=MODES, nargs="+", default=MODES, help="default: both")
    parser.add_argument("--only", default="", help="a regular expression of the names of those to send")
    parser.add_argument("--calm-s", type=float, default=15.0, help="how long the tenant is watched alone")
    options = parser.parse_args()
    chosen = [one for one in inputs() if re.search(options.only, one.name)]
    if options.list:
        for one in chosen:
            print(one.name)
        return 0
    is_well = True
    for mode in options.mode:
        print(f"== mode {mode}, machine load {Path('/proc/loadavg').read_text().split()[0]}", flush=True)
        faults = besiege(mode, chosen, calm_s=options.calm_s)
        print(*(f"FAULT: {fault}" for fault in faults), sep="\n")
        is_well = is_well and not faults
    return 0 if is_well else 1


if __name__ == "__main__":
    sys.exit(main())
