"""Random work with an assistant's memory: each memory is added, changed, deleted and restored."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from tests.families.work import WorkClient

MOST_STEPS: Final = 3
LISTED: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryClaim:
    """What a memory says and what its state is, one of two while a change is on its way."""

    memory_id: str
    states: frozenset[tuple[str, str]]


class AssistantWork:
    """Keeps memories of which no two are alike, told in one thread."""

    def do(self, client: WorkClient) -> Iterator[MemoryClaim]:
        _at_home(client)
        state = (f"User owns the boat {_word(client)}.", "active")
        added = client.ask("add_assistant_memory", text=state[0], category=_category(client), thread_id="t")
        claim = MemoryClaim(memory_id=added["memory"]["id"], states=frozenset([state]))
        yield claim
        for _ in range(client.rng.randrange(MOST_STEPS + 1)):
            name, fields, then = _step(client, state)
            yield replace(claim, states=frozenset([state, then]))
            client.ask(name, memory_id=claim.memory_id, **fields)
            state = then
            yield replace(claim, states=frozenset([state]))

    def problems(self, client: WorkClient, claims: Sequence[MemoryClaim]) -> list[str]:
        """Return what is lost, changed, doubled, or says something else than its history does."""
        _at_home(client)
        return [f"{claim.memory_id}: {one}" for claim in claims for one in _problems(client, claim)]


def _at_home(client: WorkClient) -> None:
    client.place = {"tenant_id": client.place["tenant_id"], "user_id": "ana"}


def _word(client: WorkClient) -> str:
    """A new word; numbers as long might be those of cards, which are blanked."""
    return "".join(client.rng.choices(string.ascii_lowercase, k=16))


def _category(client: WorkClient) -> str:
    return client.rng.choice(["goals", "preferences", "event"])


def _step(client: WorkClient, state: tuple[str, str]) -> tuple[str, dict[str, Any], tuple[str, str]]:
    """Return an operation, its fields, and what the memory is then."""
    text, status = state
    if status == "soft_deleted":
        return "restore_assistant_memory", {}, (text, "active")
    if client.rng.random() < 0.3:
        return "delete_assistant_memory", {}, (text, "soft_deleted")
    text = f"User sold the boat {_word(client)}."
    return "update_assistant_memory", {"text": text}, (text, status)


def _problems(client: WorkClient, claim: MemoryClaim) -> Iterator[str]:
    found = client.ask("get_assistant_memory", memory_id=claim.memory_id)
    if (found["text"], found["state"]) not in claim.states:
        yield f"says {found['text']!r} and is {found['state']}, which is none of {set(claim.states)}"
    rows = client.ask("assistant_memory_history", memory_id=claim.memory_id, limit=LISTED)["items"]
    told = [row for row in rows if row["event"] != "LINK"]
    if [row["event"] for row in told].count("ADD") != 1:
        yield f"has the history {[row['event'] for row in told]}"
    newest = told[0]["new_ref"]
    if (newest["text"], newest["state"]) != (found["text"], found["state"]):
        yield f"says {found['text']!r}, and its history {newest['text']!r}"
    if any(later["old_ref"] != earlier["new_ref"] for later, earlier in pairwise(told)):
        yield "has a gap in its history"
