"""Has things remembered by a service that is killed as soon as it has answered; each has to be there once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import httpx

from tests.system.service import RunningService, wait_for
from tests.system.writers import WORDS

TENANT: Final = "default"  # in which conversations are kept where nobody has to prove who calls
ASKED_AT_ONCE: Final = 4


class Said(NamedTuple):
    """Who said something, and what."""

    user: str
    messages: Sequence[Mapping[str, str]]


@dataclass
class RememberKills:
    """What was said, in rounds, and what came of it in a service that was killed after each.

    Each round has a user of its own: an assistant learns so much of one in a day, and no more.
    """

    service: RunningService
    rng: random.Random
    said: dict[str, Said] = field(default_factory=dict)
    rounds: int = 0
    states: Counter[str] = field(default_factory=Counter)

    def strike(self) -> None:
        """Have a few things remembered, and kill the service with the last answer; then start it again."""
        self.rounds += 1
        with httpx.Client(base_url=self.service.url, timeout=20.0) as http:
            for _ in range(self.rng.randint(1, ASKED_AT_ONCE)):
                said = Said(f"user-{self.rounds}", self._messages())
                reply = http.post("/v1/remember", json=_whose(said) | {"messages": said.messages})
                reply.raise_for_status()
                self.said[reply.json()["id"]] = said
                self.states.update(one["state"] for one in reply.json()["families"])
        self.service.kill()
        self.service.start()

    def faults(self) -> list[str]:
        """Return what is lost, doubled or changed once the service has done all that it was left."""
        with httpx.Client(base_url=self.service.url, timeout=20.0) as http:
            wait_for(lambda: all(self._told(http, id)["done"] for id in self.said), "all is done")
            users = {said.user for said in self.said.values()}
            notes = Counter(one["text"] for user in users for one in self._notes(http, user))
            return [fault for id in self.said for fault in self._faults_of(http, id, notes)]

    def _faults_of(self, http: httpx.Client, said_id: str, notes: Counter[str]) -> list[str]:
        said, told = self.said[said_id], self._told(http, said_id)
        written = {one["family"]: one["written"] for one in told["families"]}
        entries = self._entries(http, said.user, told["conversation"])
        faults = []
        if [one["content"][0]["text"] for one in entries] != [one["content"] for one in said.messages]:
            faults.append(f"{said_id}: the conversation holds {len(entries)} entries of {len(said.messages)}")
        if [one["id"] for one in written["conversations"]] != [one["id"] for one in entries]:
            faults.append(f"{said_id}: other entries were told of")
        if [one["op"] for one in written["notes"]] != ["ADD", "ADD"]:
            faults.append(f"{said_id}: notes say {written['notes']}")
        decision, liked, _ = (one["content"] for one in said.messages)
        faults += [
            f"{said_id}: the note {text} is there {notes[text]} times"
            for text in (decision, f"Preference: {liked}")
            if notes[text] != 1
        ]
        if {one["state"] for one in told["families"]} != {"done"}:
            faults.append(f"{said_id}: families say {told['families']}")
        if [one["op"] for one in written["assistant"]] != ["ADD"]:
            faults.append(f"{said_id}: the assistant says {written['assistant']}")
        return faults

    def _messages(self) -> list[dict[str, str]]:
        # So many words that no two are taken for one.
        words, liked = (" ".join(self.rng.sample(WORDS, 7)) for _ in range(2))
        return [
            {"role": "user", "content": f"Decision: We {words} {self.rng.getrandbits(32)}."},
            {"role": "user", "content": f"I like {liked} {self.rng.getrandbits(32)}."},
            {"role": "assistant", "content": f"Noted, the {words}."},
        ]

    def _told(self, http: httpx.Client, said_id: str) -> dict[str, Any]:
        reply = http.get(f"/v1/remember/{said_id}", params=_whose(self.said[said_id]))
        reply.raise_for_status()
        told: dict[str, Any] = reply.json()
        return told

    def _entries(self, http: httpx.Client, user: str, conversation: str) -> list[dict[str, Any]]:
        path = f"/v1/conversations/{quote(conversation)}/entries"
        reply = http.get(path, headers={"Authorization": f"Bearer {user}"})
        reply.raise_for_status()
        entries: list[dict[str, Any]] = reply.json()["data"]
        return entries

    def _notes(self, http: httpx.Client, user: str) -> list[dict[str, Any]]:
        notes: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            place = {"tenant_id": TENANT, "project_id": user, "scope": "project_shared", "limit": 200}
            reply = http.get("/v1/memory/list", params=place | ({"cursor": cursor} if cursor else {}))
            reply.raise_for_status()
            notes += reply.json()["items"]
            cursor = reply.json()["next_cursor"]
            if cursor is None:
                return notes


def _whose(said: Said) -> dict[str, str]:
    return {"tenant_id": TENANT, "user_id": said.user}
