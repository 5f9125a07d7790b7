"""Has things remembered by a service that is killed as soon as it has answered; each has to be there once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import httpx

from tests.system.service import RunningService, wait_for
from tests.system.writers import WORDS

TENANT: Final = "default"  # in which conversations are kept where nobody has to prove who calls
ASKED_AT_ONCE: Final = 4


@dataclass
class RememberKills:
    """What was said in `rounds`, and what came of it in a service that was killed after each."""

    service: RunningService
    rng: random.Random
    user: str
    said: dict[str, Sequence[Mapping[str, str]]] = field(default_factory=dict)
    states: Counter[str] = field(default_factory=Counter)

    def strike(self) -> None:
        """Have a few things remembered, and kill the service with the last answer; then start it again."""
        with httpx.Client(base_url=self.service.url, timeout=20.0) as http:
            for _ in range(self.rng.randint(1, ASKED_AT_ONCE)):
                messages = self._messages()
                reply = http.post("/v1/remember", json=self._whose | {"messages": messages})
                reply.raise_for_status()
                self.said[reply.json()["id"]] = messages
                self.states.update(one["state"] for one in reply.json()["families"])
        self.service.kill()
        self.service.start()

    def faults(self) -> list[str]:
        """Return what is lost, doubled or changed once the service has done all that it was left."""
        with httpx.Client(base_url=self.service.url, timeout=20.0) as http:
            wait_for(lambda: all(self._told(http, id)["done"] for id in self.said), "all is done")
            notes = Counter(one["text"] for one in self._notes(http))
            return [fault for id in self.said for fault in self._faults_of(http, id, notes)]

    def _faults_of(self, http: httpx.Client, said_id: str, notes: Counter[str]) -> list[str]:
        messages, told = self.said[said_id], self._told(http, said_id)
        written = {one["family"]: one["written"] for one in told["families"]}
        entries = self._entries(http, told["conversation"])
        faults = []
        if [one["content"][0]["text"] for one in entries] != [one["content"] for one in messages]:
            faults.append(f"{said_id}: the conversation holds {len(entries)} entries of {len(messages)}")
        if [one["id"] for one in written["conversations"]] != [one["id"] for one in entries]:
            faults.append(f"{said_id}: other entries were told of")
        if [one["op"] for one in written["notes"]] != ["ADD"]:
            faults.append(f"{said_id}: notes say {written['notes']}")
        text = messages[0]["content"]
        if notes[text] != 1:
            faults.append(f"{said_id}: its note is there {notes[text]} times")
        if any(one["op"] != "ADD" for one in written["assistant"]):
            faults.append(f"{said_id}: the assistant says {written['assistant']}")
        return faults

    def _messages(self) -> list[dict[str, str]]:
        # So many words that no two are taken for one.
        words = " ".join(self.rng.sample(WORDS, 7))
        return [
            {"role": "user", "content": f"Decision: We {words} {self.rng.getrandbits(32)}."},
            {"role": "assistant", "content": f"Noted, the {words}."},
        ]

    @property
    def _whose(self) -> dict[str, str]:
        return {"tenant_id": TENANT, "user_id": self.user}

    def _told(self, http: httpx.Client, said_id: str) -> dict[str, Any]:
        reply = http.get(f"/v1/remember/{said_id}", params=self._whose)
        reply.raise_for_status()
        told: dict[str, Any] = reply.json()
        return told

    def _entries(self, http: httpx.Client, conversation: str) -> list[dict[str, Any]]:
        path = f"/v1/conversations/{quote(conversation)}/entries"
        reply = http.get(path, headers={"Authorization": f"Bearer {self.user}"})
        reply.raise_for_status()
        entries: list[dict[str, Any]] = reply.json()["data"]
        return entries

    def _notes(self, http: httpx.Client) -> list[dict[str, Any]]:
        notes: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            place = {"tenant_id": TENANT, "project_id": self.user, "scope": "project_shared", "limit": 200}
            reply = http.get("/v1/memory/list", params=place | ({"cursor": cursor} if cursor else {}))
            reply.raise_for_status()
            notes += reply.json()["items"]
            cursor = reply.json()["next_cursor"]
            if cursor is None:
                return notes
