"""Clients that store notes without pause, as an import does, and remember what was acknowledged."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from types import TracebackType
from typing import Self

import httpx

from tests.system.service import RunningService, add_body, note

WORDS = """
    anchor apple autumn badge barrel basket beacon bishop blanket bottle bridge bronze button cabin
    candle canyon carpet castle cellar chapel cherry cobalt copper cotton cradle crystal dagger desert
    dragon eagle ember engine falcon feather fiddle forest fossil garden ginger glacier goblet granite
    hammer harbor hazel helmet honey island ivory jacket jungle kettle ladder lantern leather lemon
    lizard magnet maple marble meadow mirror monkey mountain needle nickel oyster paddle palace pepper
    pigeon pillow planet pocket prairie pumpkin quarry rabbit raven ribbon river rocket saddle sailor
    salmon shadow silver spider summer temple thunder ticket tiger tunnel turtle valley velvet violin
    walnut whistle willow window winter wizard yellow zebra
    """.split()  # noqa: SIM905 - a list of so many quoted words is harder to read
LONGEST_ANSWER_S = 25.0  # what takes longer counts as hung


class Writers:
    """`clients` threads, each sending one note after the other until told to stop; a context manager.

    Between two notes a client waits `pause_s`.

    A request that fails (503, or no connection) is sent again. `acknowledged` is the text of each note that was
    answered with 200, by id; `answers` counts the answers by status, or by what came instead of one; `faults` are
    the answers that no client should ever get.
    """

    def __init__(
        self, service: RunningService, tenant: str, *, clients: int = 4, seed: int = 1, pause_s: float = 0.0
    ) -> None:
        self._url = service.url
        self._tenant = tenant
        self._pause_s = pause_s
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(
                target=self._write, args=(number, random.Random(f"{seed}-{number}")), daemon=True
            )
            for number in range(clients)
        ]
        self.acknowledged: dict[str, str] = {}
        self.answers: Counter[str] = Counter()
        self.faults: list[str] = []
        self.slowest_s = 0.0

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Let every client end its request, and wait for it."""
        self._stop.set()
        for thread in self._threads:
            thread.join(LONGEST_ANSWER_S + 10.0)
            assert not thread.is_alive(), "a client hangs"

    def _write(self, client: int, rng: random.Random) -> None:
        with httpx.Client(base_url=self._url, timeout=LONGEST_ANSWER_S) as http:
            number = 0
            while not self._stop.is_set():
                # So many words that no two notes without key are taken for one.
                text = f"{' '.join(rng.sample(WORDS, 7)).capitalize()} {client}-{number}."
                # Half of the notes have no key, so that both ways into the index are under fire.
                key = f"{client}/{number}" if number % 2 else None
                self._store(http, text, key)
                number += 1
                self._stop.wait(self._pause_s)

    def _store(self, http: httpx.Client, text: str, key: str | None) -> None:
        body = add_body(self._tenant, note(text, key=key))
        while not self._send(http, body, text) and not self._stop.is_set():
            self._stop.wait(0.05)

    def _send(self, http: httpx.Client, body: dict[str, object], text: str) -> bool:
        started = time.monotonic()
        try:
            response = http.post("/v1/memory/add_note", json=body)
        except httpx.TransportError as error:
            self._note_answer(type(error).__name__, started)
            if isinstance(error, httpx.TimeoutException):
                self._note_fault(f"no answer within {LONGEST_ANSWER_S} s")
            return False
        self._note_answer(str(response.status_code), started)
        if response.status_code == 200:
            (result,) = response.json()["results"]
            with self._lock:
                self.acknowledged[result["note_id"]] = text
            return True
        if response.status_code != 503 or "Retry-After" not in response.headers:
            self._note_fault(f"{response.status_code} {dict(response.headers)} {response.text}")
        return False

    def _note_answer(self, kind: str, started: float) -> None:
        with self._lock:
            self.answers[kind] += 1
            self.slowest_s = max(self.slowest_s, time.monotonic() - started)

    def _note_fault(self, fault: str) -> None:
        with self._lock:
            self.faults.append(fault)
