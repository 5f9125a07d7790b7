"""Random work with conversations: things are said and remembered, some are forked, and some deleted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import NAMESPACE_OID, UUID, uuid5

from tests.families.work import WorkClient

MOST_STEPS: Final = 4
PAGE: Final = 200
CLIENT: Final = "bot"
MEMORY: Final = {"channel": "memory", "contentType": "LC4J"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationClaim:
    """A conversation as it has to be; of what may be two ways, because a change is on its way, both are said.

    `said` are the ids of its entries with their texts, in their order: whatever was sent twice may stand between them.
    `remembered` is all that the client remembers. `forks` are ids with that of the entry they were forked at.
    """

    conversation_id: str
    said: tuple[tuple[str, str], ...]
    remembered: frozenset[tuple[str, ...]] = frozenset([()])
    forks: tuple[tuple[str, str], ...] = ()
    deleted: frozenset[bool] = frozenset([False])


class ConversationsWork:
    """Says things in new conversations, one client at a time in each."""

    def do(self, client: WorkClient) -> Iterator[ConversationClaim]:
        speak(client)
        place = {"conversationId": str(mark_of(client))}
        claim = ConversationClaim(conversation_id=place["conversationId"], said=(_say(client, place),))
        yield claim
        for _ in range(client.rng.randrange(MOST_STEPS + 1)):
            step = client.rng.choice([_said_more, _remembered, _forked])
            for changed in step(client, place, claim):
                yield (claim := changed)
        if client.rng.random() < 0.2:
            yield replace(claim, deleted=frozenset([False, True]))
            client.drop("delete_conversation", **place)
            yield replace(claim, deleted=frozenset([True]))

    def problems(self, client: WorkClient, claims: Sequence[ConversationClaim]) -> list[str]:
        """Return what is lost, changed, or still there."""
        speak(client)
        return [f"{claim.conversation_id}: {one}" for claim in claims for one in _problems(client, claim)]


def speak(client: WorkClient) -> None:
    """Be one user of all that this place has, by one client."""
    if client.place:
        user = uuid5(NAMESPACE_OID, client.place["tenant_id"])
        client.headers = {"Authorization": f"Bearer {user}", "X-Client-ID": CLIENT}
        client.place = {}


def mark_of(client: WorkClient) -> UUID:
    return UUID(int=client.rng.getrandbits(128), version=4)


def _say(client: WorkClient, place: Mapping[str, str]) -> tuple[str, str]:
    text = f"said {mark_of(client).hex}"
    talk = {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": text}]}
    return client.ask("append_entry", **place, **talk)["id"], text


def _said_more(
    client: WorkClient, place: Mapping[str, str], claim: ConversationClaim
) -> Iterator[ConversationClaim]:
    yield replace(claim, said=(*claim.said, _say(client, place)))


def _remembered(
    client: WorkClient, place: Mapping[str, str], claim: ConversationClaim
) -> Iterator[ConversationClaim]:
    """Remember more, or all anew."""
    (known,) = claim.remembered
    begins = known if client.rng.random() < 0.7 else ()
    wanted = (*begins, f"remembered {mark_of(client).hex}")
    yield replace(claim, remembered=frozenset([known, wanted]))
    client.ask("sync_entries", **place, **MEMORY, content=list(wanted))
    yield replace(claim, remembered=frozenset([wanted]))


def _forked(
    client: WorkClient, place: Mapping[str, str], claim: ConversationClaim
) -> Iterator[ConversationClaim]:
    entry, _ = client.rng.choice(claim.said)
    fork = client.ask("fork_conversation", **place, entryId=entry, title="Fork")["id"]
    yield replace(claim, forks=(*claim.forks, (fork, entry)))


def _problems(client: WorkClient, claim: ConversationClaim) -> Iterator[str]:
    place = {"conversationId": claim.conversation_id}
    is_deleted = not client.finds("get_conversation", **place)
    if is_deleted not in claim.deleted:
        yield "is gone" if is_deleted else "is still there"
    if is_deleted:
        return
    listed = _entries(client, place, channel="history")
    if _those_of(claim.said, listed) != list(claim.said):
        yield f"says {listed} and not {claim.said}"
    remembered = tuple(one for entry in _entries(client, place, channel="memory") for one in entry["content"])
    if remembered not in claim.remembered:
        yield f"remembers {remembered} and not one of {set(claim.remembered)}"
    for fork, entry in claim.forks:
        wanted = list(claim.said[: [id for id, _ in claim.said].index(entry)])
        inherited = _entries(client, {"conversationId": fork}, channel="history")
        if _those_of(claim.said, inherited) != wanted:
            yield f"its fork {fork} says {inherited} and not {wanted}"


def _those_of(said: Sequence[tuple[str, str]], listed: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """What is listed of what was said, in the order of the list."""
    known = {id for id, _ in said}
    return [(one["id"], one["content"][0]["text"]) for one in listed if one["id"] in known]


def _entries(client: WorkClient, place: Mapping[str, str], **more: Any) -> list[dict[str, Any]]:
    return list(client.ask("list_conversation_entries", **place, **more, limit=PAGE)["data"])
