"""Random work with sessions: entries come to them and are taken off, and some sessions are forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.families.conversations_work import mark_of, speak
from tests.families.work import WorkClient

MOST_STEPS: Final = 5
PAGE: Final = 200

State = tuple[str, tuple[str, ...]]
"""The revision of a session, and what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionClaim:
    """A session exactly as it has to be, or one of two ways while a change is on its way; None: there is none."""

    session_id: str
    states: frozenset[State | None]


class SessionsWork:
    """Writes sessions of its own by their revisions, so that nothing is written twice by who has to ask again."""

    def do(self, client: WorkClient) -> Iterator[SessionClaim]:
        speak(client)
        session = f"session {mark_of(client).hex}"
        now: State | None = None
        for _ in range(client.rng.randrange(1, MOST_STEPS + 2)):
            name, fields, then = _step(client, now)
            yield SessionClaim(session_id=session, states=frozenset([now, then]))
            answer = client.change(name, sessionId=session, **fields)
            _check_popped(fields, now, answer)
            yield SessionClaim(session_id=session, states=frozenset([then]))
            if (now := then) is None:
                return

    def problems(self, client: WorkClient, claims: Sequence[SessionClaim]) -> list[str]:
        """Return what is lost, doubled, changed, or still there."""
        speak(client)
        return [problem for claim in claims for problem in _problems(client, claim)]


def _step(client: WorkClient, now: State | None) -> tuple[str, dict[str, Any], State | None]:
    """Return an operation, its fields, and what the session is then."""
    revision = mark_of(client).hex
    said = [f"said {mark_of(client).hex}" for _ in range(client.rng.randrange(1, 4))]
    entries = [{"content": [{"role": "USER", "text": text}]} for text in said]
    if now is None:
        return (
            "write_session",
            {"isNew": True, "revision": revision, "entries": entries},
            (revision, (*said,)),
        )
    expected = {"expectedRevision": now[0]}
    fields = {**expected, "revision": revision}
    match client.rng.randrange(8):
        case 0:
            return "delete_session", expected, None
        case 1:
            return "write_session", {**fields, "keep": "none"}, (revision, ())
        case 2 | 3:
            return "write_session", {**fields, "keep": "but_newest"}, (revision, now[1][:-1])
        case 4:
            both = {**fields, "keep": "but_newest", "entries": entries}
            return "write_session", both, (revision, (*now[1][:-1], *said))
        case _:
            return "write_session", {**fields, "entries": entries}, (revision, (*now[1], *said))


def _check_popped(fields: dict[str, Any], now: State | None, answer: Any) -> None:
    """What a write tells that it took off is the newest that there was."""
    if answer is None or now is None or fields.get("keep") != "but_newest":
        return
    popped = answer["popped"] and answer["popped"]["content"][0]["text"]
    assert popped == (now[1][-1] if now[1] else None), f"{popped!r} was taken off {now}"


def _problems(client: WorkClient, claim: SessionClaim) -> Iterator[str]:
    found: State | None = None
    if client.finds("read_session", sessionId=claim.session_id):
        session = client.ask("read_session", sessionId=claim.session_id, limit=PAGE)
        found = (session["revision"], tuple(one["content"][0]["text"] for one in session["entries"]))
    if found not in claim.states:
        yield f"{claim.session_id} is {found}, which is none of {set(claim.states)}"
