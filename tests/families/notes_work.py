"""Random work with notes: each is written, and then changed, deleted and restored some times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from tests.families.work import WorkClient
from tests.system.service import note, wait_for
from tests.system.writers import WORDS

MOST_CHANGES: Final = 3
PAGE: Final = 200


@dataclass(frozen=True, slots=True)
class NoteClaim:
    """The text that a note has to have, None where it has to be deleted; one of two while a change is on its way."""

    note_id: str
    texts: frozenset[str | None]


class NotesWork:
    """Writes notes of which no two are alike."""

    def do(self, client: WorkClient) -> Iterator[NoteClaim]:
        first = text = _text(client)
        key = client.rng.choice([None, f"key {text}"])
        body = {"scope": "project_shared", "notes": [note(text, key=key)]}
        (result,) = client.ask("add_note", **body)["results"]
        assert result["op"] in ("ADD", "NONE"), f"add_note of {first!r}: {result}"  # NONE: it was sent twice
        named = {"note_id": result["note_id"]}
        now: str | None = text
        yield NoteClaim(result["note_id"], frozenset([now]))
        for _ in range(client.rng.randrange(MOST_CHANGES + 1)):
            name, change, then = self._change(client, now, text)
            yield NoteClaim(result["note_id"], frozenset([now, then]))
            client.ask(name, **named, **change)
            now, text = then, then or text
            yield NoteClaim(result["note_id"], frozenset([now]))

    def _change(
        self, client: WorkClient, now: str | None, last: str
    ) -> tuple[str, Mapping[str, Any], str | None]:
        """Return an operation, its fields, and the text that the note has then."""
        if now is None:
            return "restore_note", {}, last
        if client.rng.random() < 0.3:
            return "delete_note", {}, None
        text = _text(client)
        return "update_note", {"text": text}, text

    def problems(self, client: WorkClient, claims: Sequence[NoteClaim]) -> list[str]:
        """Return notes that are lost, doubled, told wrongly or never found."""
        listed = _listed(client)
        wrong = [
            f"{claim.note_id} says {listed.get(claim.note_id)!r} and not one of {set(claim.texts)}"
            for claim in claims
            if listed.get(claim.note_id) not in claim.texts
        ]
        doubled = [
            f"{text!r} is there {times} times"
            for text, times in Counter(listed.values()).items()
            if times > 1
        ]
        lost = [listed[claim.note_id] for claim in claims if claim.note_id in listed]
        return [*wrong, *doubled, *_unfound(client, lost)]


def _text(client: WorkClient) -> str:
    # So many words that no two notes are taken for one.
    mark = UUID(int=client.rng.getrandbits(128)).hex[:12]
    return f"{' '.join(client.rng.sample(WORDS, 7)).capitalize()} {mark}."


def _listed(client: WorkClient) -> dict[str, str]:
    """The text of each note that is not deleted, by its id."""
    texts: dict[str, str] = {}
    page: dict[str, Any] = {"limit": PAGE}
    while True:
        body = client.ask("list_notes", **page)
        texts |= {item["note_id"]: item["text"] for item in body["items"]}
        if body["next_cursor"] is None:
            return texts
        page["cursor"] = body["next_cursor"]


def _unfound(client: WorkClient, texts: Sequence[str]) -> list[str]:
    """The texts that do not find themselves, however long one waits."""
    left = list(texts)

    def look() -> bool:
        left[:] = [text for text in left if not _finds(client, text)]
        return not left

    try:
        wait_for(look, "every note is found")
    except AssertionError:
        return [f"{text!r} is not found" for text in left]
    return []


def _finds(client: WorkClient, text: str) -> bool:
    body = client.ask("search", read_profile="all_scopes", query=text, top_k=5, candidate_k=20)
    return any(text == item["snippet"] for item in body["items"])
