"""Writes values in all moods of a receiver, and under kills of the service; each change has to be told, in order."""

from __future__ import annotations

import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import httpx

from tests.system.service import RunningService, wait_for
from tests.system.webhook_receiver import Heard, WebhookReceiver

TENANT: Final = "siege"
KEYS: Final = 3
LONGEST_ANSWER_S: Final = 20.0
MOODS: Final[Mapping[str, Callable[[WebhookReceiver], None]]] = {
    "well": WebhookReceiver.get_well,
    "answers 500": WebhookReceiver.fail,
    "says no": WebhookReceiver.refuse,
    "hangs": WebhookReceiver.hang,
    "is gone": WebhookReceiver.leave,
}


class Change(NamedTuple):
    """What a user did to a value, and whether that was answered."""

    key: str
    event: str
    is_sure: bool


@dataclass
class WebhookSiege:
    """Users write, change and remove values, one after the other each, while the receiver's mood turns.

    `seconds` are what writes took, by the mood in which they were answered.
    """

    service: RunningService
    receiver: WebhookReceiver
    rng: random.Random
    users: Sequence[str]
    changes: dict[str, list[Change]] = field(default_factory=lambda: defaultdict(list))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    kills: int = 0
    mood: str = "well"

    def rage(self, steps: int, *, step_s: float, kill_every: int = 0) -> None:
        """Turn the mood so often, and kill the service at each step of that number."""
        stop = threading.Event()
        with ThreadPoolExecutor(len(self.users)) as threads:
            writers = [
                threads.submit(self._write, user, self.rng.getrandbits(32), stop) for user in self.users
            ]
            try:
                for step in range(1, steps + 1):
                    self._turn(self.rng.choice([*MOODS]))
                    time.sleep(step_s)
                    if kill_every and step % kill_every == 0:
                        self.service.kill()
                        self.kills += 1
                        self.service.start()
            finally:
                stop.set()
        _raise_of(writers)
        self._turn("well")

    def faults(self) -> list[str]:
        """Return what is lost, in another order or forged, once the receiver was well for long enough."""
        wait_for(self._is_all_told, "all is told", timeout_s=120.0)
        heard: dict[str, list[Heard]] = defaultdict(list)
        for one in self.receiver.taken(tenant_id=TENANT):
            heard[one.data["user_id"]].append(one)
        faults = [f"the signature of {id} is wrong" for id in self.receiver.forged]
        for user, changes in self.changes.items():
            faults += _faults_of(user, changes, heard[user])
        return faults

    def _turn(self, mood: str) -> None:
        self.mood = mood
        MOODS[mood](self.receiver)

    def _is_all_told(self) -> bool:
        with httpx.Client(base_url=self.service.admin_url, timeout=LONGEST_ANSWER_S) as http:
            (webhook,) = http.get("/v1/admin/webhooks").json()["items"]
            if webhook["waiting"] or webhook["dead_letters"]:
                http.post(f"/v1/admin/webhooks/{webhook['name']}/retry", json={})
        return bool(webhook["waiting"] == 0 and webhook["dead_letters"] == 0)

    def _write(self, user: str, seed: int, stop: threading.Event) -> None:
        rng, there = random.Random(seed), set[str]()
        with httpx.Client(timeout=LONGEST_ANSWER_S) as http:
            while not stop.is_set():
                key = f"k{rng.randrange(KEYS)}"
                is_removal = key in there and rng.random() < 0.3
                event = "forgotten" if is_removal else "changed" if key in there else "written"
                if self._is_done(http, user, key, is_removal):
                    self.changes[user].append(Change(key, event, is_sure=True))
                    (there.discard if is_removal else there.add)(key)
                else:  # it was or was not: nobody can tell what comes next
                    self.changes[user].append(Change(key, event, is_sure=False))
                    there = self._there(http, user, stop)

    def _is_done(self, http: httpx.Client, user: str, key: str, is_removal: bool) -> bool:
        at: dict[str, Any] = {"namespace": ["siege"], "key": key}
        op = {"delete": at} if is_removal else {"put": {**at, "value": time.monotonic()}}
        began = time.monotonic()
        try:
            reply = http.post(
                f"{self.service.url}/v1/store/batch", json={"tenant_id": TENANT, "user_id": user, "ops": [op]}
            )
        except httpx.HTTPError:
            return False
        if reply.is_success:
            self.seconds[self.mood].append(time.monotonic() - began)
        return reply.is_success

    def _there(self, http: httpx.Client, user: str, stop: threading.Event) -> set[str]:
        """Return which values there are, once the service answers."""
        whose = {"tenant_id": TENANT, "user_id": user, "namespace": ["siege"], "limit": 100}
        while True:
            try:
                reply = http.post(f"{self.service.url}/v1/store/search", json=whose)
                if reply.is_success:
                    return {item["key"] for item in reply.json()["items"]}
            except httpx.HTTPError:
                pass
            stop.wait(0.05)


def _raise_of(writers: Sequence[Future[None]]) -> None:
    for writer in writers:
        writer.result()


def _faults_of(user: str, changes: Sequence[Change], heard: Sequence[Heard]) -> list[str]:
    """Compare what a user did with what was told for the first time, in its order; what is not sure may be missing."""
    told = [*{one.id: (one.data["key"], one.event) for one in heard}.values()]
    places = {0}  # how much of what was told may belong to the changes so far
    for change in changes:
        told_now = {place + 1 for place in places if told[place : place + 1] == [(change.key, change.event)]}
        if change.is_sure and not told_now:
            return [f"{user}: {change} was not told in its turn; {told[min(places) :][:3]} was"]
        places = told_now if change.is_sure else places | told_now
    return [] if len(told) in places else [f"{user}: told of {told[max(places) :][:3]}, which nobody did"]
