"""Clients that keep changing notes, and a record of when each text could be seen and by whom."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import inf
from typing import Any, Final, NamedTuple, Self

import httpx

from tests.system.service import RunningService, add_body, note
from tests.system.writers import WORDS

SCOPES: Final = ("agent_private", "project_shared", "org_shared")
PROFILES: Final = {"private_only": SCOPES[:1], "private_plus_project": SCOPES[:2], "all_scopes": SCOPES}
SECONDS_PER_DAY: Final = 86_400.0
NOTES_OF_A_CLIENT: Final = 25
PAUSE_S: Final = 0.04  # between two changes of a client: the searches need the processors, too
# So few words, that searches and notes of all tenants meet in them.
VOCABULARY: Final = WORDS[:30]


class Place(NamedTuple):
    """Where a note is, and whose it is."""

    tenant: str
    scope: str
    agent: str


class Reader(NamedTuple):
    """Who searches, and with which profile."""

    tenant: str
    agent: str
    profile: str

    def may_read(self, place: Place) -> bool:
        if place.tenant != self.tenant or place.scope not in PROFILES[self.profile]:
            return False
        return place.scope != "agent_private" or place.agent == self.agent


@dataclass(slots=True)
class Version:
    """One text of a note: seen by nobody before `begins`, when it was sent, nor after `ends`, when it is over."""

    note_id: str
    text: str
    place: Place
    key: str | None
    begins: float
    ends: float = inf

    def could_be_seen(self, begin: float, end: float) -> bool:
        """Whether it was current at some moment from `begin` to `end`."""
        return self.begins <= end and begin <= self.ends


class Record:
    """All versions that there ever were; their texts are unique."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: dict[str, Version] = {}
        self._numbers = itertools.count()

    def new_text(self, rng: random.Random) -> str:
        return f"{' '.join(rng.sample(VOCABULARY, 6)).capitalize()} mark{next(self._numbers)}."

    def add(self, version: Version) -> None:
        with self._lock:
            self._versions[version.text] = version

    def of_text(self, text: str) -> Version | None:
        with self._lock:
            return self._versions.get(text)

    def all(self) -> list[Version]:
        with self._lock:
            return list(self._versions.values())


@dataclass
class Changer:
    """One client that adds, rewords, replaces, moves and deletes notes of its own agents, and lets some expire.

    The notes that others may read are changed and deleted under the name of any agent of the tenant.
    """

    service: RunningService
    record: Record
    tenant: str
    agents: tuple[str, ...]
    colleagues: tuple[str, ...]
    rng: random.Random
    current: dict[str, Version] = field(default_factory=dict)

    def run(self, stop: threading.Event) -> None:
        with httpx.Client(base_url=self.service.url, timeout=30.0) as http:
            self._http = http
            while not stop.wait(PAUSE_S):
                self._change()

    def _change(self) -> None:
        now = time.time()
        alive = [version for version in self.current.values() if version.ends > now + 1.0]
        if len(alive) < NOTES_OF_A_CLIENT:
            self._add(self._somewhere(), key=self.rng.choice([None, f"key{self.rng.randrange(8)}"]))
            return
        version = self.rng.choice(alive)
        change = self.rng.choice([self._reword, self._replace, self._move, self._delete, self._let_expire])
        change(version)

    def _somewhere(self) -> Place:
        return Place(self.tenant, self.rng.choice(SCOPES), self.rng.choice(self.agents))

    def _add(self, place: Place, *, key: str | None, ttl_s: float | None = None) -> None:
        text = self.record.new_text(self.rng)
        ttl_days = None if ttl_s is None else ttl_s / SECONDS_PER_DAY
        body = add_body(
            place.tenant, note(text, key=key, ttl_days=ttl_days), agent_id=place.agent, scope=place.scope
        )
        began = time.time()
        (result,) = self._post("add_note", body)["results"]
        if result["op"] in ("ADD", "UPDATE"):
            # A note that is updated because its text is much like this one keeps its key.
            held = self.current.get(result["note_id"])
            version = Version(result["note_id"], text, place, held.key if held else key, began)
            if ttl_s is not None:
                version.ends = time.time() + ttl_s
            self._begin(version)

    def _reword(self, version: Version, *, ttl_s: float | None = None) -> None:
        text = self.record.new_text(self.rng)
        began = time.time()
        changes: dict[str, Any] = {"text": text}
        if ttl_s is not None:
            changes["ttl_days"] = ttl_s / SECONDS_PER_DAY
        assert self._post("update", self._naming(version) | changes)["op"] == "UPDATE"
        ends = inf if ttl_s is None else time.time() + ttl_s
        self._begin(Version(version.note_id, text, version.place, version.key, began, ends))

    def _replace(self, version: Version) -> None:
        if version.key is not None:
            self._add(version.place, key=version.key)

    def _let_expire(self, version: Version) -> None:
        self._reword(version, ttl_s=self.rng.uniform(0.1, 0.6))

    def _move(self, version: Version) -> None:
        self._delete(version)
        self._add(self._somewhere(), key=version.key)

    def _delete(self, version: Version) -> None:
        assert self._post("delete", self._naming(version))["op"] == "DELETE"
        self._end(version.note_id)

    def _naming(self, version: Version) -> dict[str, str]:
        place = version.place
        speaker = place.agent if place.scope == "agent_private" else self.rng.choice(self.colleagues)
        return {
            "tenant_id": place.tenant, "project_id": "p", "agent_id": speaker, "note_id": version.note_id,
        }  # fmt: skip

    def _post(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        response = self._http.post(f"/v1/memory/{name}", json=body)
        assert response.status_code == 200, response.text
        answer: dict[str, Any] = response.json()
        return answer

    def _begin(self, version: Version) -> None:
        self._end(version.note_id)
        self.current[version.note_id] = version
        self.record.add(version)

    def _end(self, note_id: str) -> None:
        version = self.current.pop(note_id, None)
        if version is not None:
            version.ends = min(version.ends, time.time())


class Churn:
    """Changers at work in threads of their own, a context manager; `failures` are what they met and must not."""

    def __init__(self, changers: Iterable[Changer]) -> None:
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=(changer,), daemon=True) for changer in changers
        ]
        self.failures: list[BaseException] = []

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60.0)
            assert not thread.is_alive(), "a client hangs"

    def _run(self, changer: Changer) -> None:
        try:
            changer.run(self._stop)
        except (AssertionError, httpx.HTTPError) as error:
            self.failures.append(error)


def changers(
    service: RunningService, record: Record, tenants: Iterable[str], *, each: int, seed: int
) -> Iterator[Changer]:
    """Some clients for each tenant, each with two agents of its own."""
    for tenant in tenants:
        agents = [(f"agent{number}a", f"agent{number}b") for number in range(each)]
        everybody = tuple(itertools.chain(*agents))
        for number, own in enumerate(agents):
            rng = random.Random(f"{seed} {tenant} {number}")
            yield Changer(service, record, tenant, own, everybody, rng)
