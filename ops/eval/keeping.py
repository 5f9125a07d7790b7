"""Has each family of a running service keep what it is told, by its own operations, and tells which item is which."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import NAMESPACE_URL, UUID, uuid5

from elf.client import Client, NewNote
from elf.client.families.memories import Remembered, Said
from ops.eval.mixed import Message, Piece
from tests.system.service import wait_for

TENANT: Final = "default"
"""The tenant of conversations where nobody is asked who calls."""
TRANSCRIPT: Final = "transcript"
"""The kind of a piece that the graph is told as a message of a channel."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of what was kept, by names of items ("family/id") and of what items rest on ("turn:id")."""

    by_name: dict[str, set[str]] = field(default_factory=dict)

    def add(self, key: str, *names: str) -> None:
        for name in names:
            self.by_name.setdefault(name, set()).add(key)

    def of(self, family: str, item_id: object, provenance: Iterable[str] = ()) -> frozenset[str]:
        """Return the keys of what an item is, or rests on."""
        names = [f"{family}/{item_id}", *provenance]
        return frozenset[str]().union(*(self.by_name.get(name, ()) for name in names))


@dataclass(frozen=True)
class Keeper:
    """The user of a household, at one service, with an agent that only this user has."""

    memory: Client
    user: str
    agent: str
    keys: Keys = field(default_factory=Keys)

    @property
    def conversation(self) -> UUID:
        return uuid5(NAMESPACE_URL, self.user)

    def remember(self, said: Sequence[Message], timeout_s: float) -> None:
        """Have what was said remembered, each message by itself, and wait until every family is done with it."""
        ids = {one.key: self._remember(one) for one in said}
        for key, id in ids.items():
            remembered = wait_for(partial(self._done, id), "it is remembered", timeout_s=timeout_s)
            written = [(of.family, one.id) for of in remembered.families for one in of.written]
            names = [f"{family}/{item_id}" for family, item_id in written if item_id is not None]
            self.keys.add(key, f"message:{key}", f"turn:{id}", *names)

    def _remember(self, one: Message) -> UUID:
        said = Said(content=one.text, role=one.role, id=one.key)
        conversation = str(self.conversation)
        return self.memory.memories.remember([said], conversation=conversation, **self._whose).id

    def _done(self, id: UUID) -> Remembered | None:
        remembered = self.memory.memories.remembered(id, **self._whose)
        return remembered if remembered.done else None

    @property
    def _whose(self) -> dict[str, str]:
        return {"user_id": self.user, "agent_id": self.agent}

    def keep(self, pieces: Sequence[Piece]) -> None:
        """Have each family keep its pieces, in their order. Conversations come first: others name them."""
        by_family = {
            name: [piece for piece in pieces if piece.family == name]
            for name in dict.fromkeys(piece.family for piece in pieces)
        }
        self._keep_all(self._say, by_family.pop("conversations", []))
        ways: dict[str, Callable[[Piece], None]] = {
            "notes": self._note, "knowledge": self._know, "graph": self._link, "assistant": self._tell,
        }  # fmt: skip
        with ThreadPoolExecutor(max_workers=len(ways)) as threads:
            done = [threads.submit(self._keep_all, ways[name], some) for name, some in by_family.items()]
        for one in done:
            one.result()

    def wait_linked(self, timeout_s: float) -> None:
        """Wait until the graph has the vectors of all that it keeps."""
        wait_for(self._is_linked, "the graph has its vectors", timeout_s=timeout_s)

    def _is_linked(self) -> bool:
        counts = self.memory.graph.status().counts
        return counts is None or counts.vectors_to_make == 0

    def _keep_all(self, keep: Callable[[Piece], None], pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            keep(piece)

    def _say(self, piece: Piece) -> None:
        content = [{"role": piece.kind, "text": piece.text}]
        entry = self.memory.conversations.append(
            self.conversation, content, channel="history", indexed_content=piece.text
        )
        self.keys.add(piece.key, f"conversations/{entry.id}")

    def _note(self, piece: Piece) -> None:
        note = NewNote(
            text=piece.text,
            type=piece.kind,
            key=piece.key[:128],
            confidence=0.9,
            source_ref={"message_id": piece.key},
        )  # type: ignore[arg-type]
        (result,) = self.memory.add_notes([note], merge_similar=False)
        if result.op == "REJECTED":
            raise SystemExit(f"{piece.key} rejected: {result.reason_code}")
        self.keys.add(piece.key, f"notes/{result.note_id}")

    def _know(self, piece: Piece) -> None:
        scope = f"user:{self.user}"
        knowledge = self.memory.knowledge
        if piece.kind == "fact":
            subject, predicate, content = piece.text.split(" | ")
            id = knowledge.store_fact(subject, predicate, content, scope=scope).id
        elif piece.kind == "rule":
            id = knowledge.store_rule(piece.text, scope=scope).id
        else:
            id = knowledge.store_episode(piece.text, self.agent, metadata={"user_id": self.user}).id
        self.keys.add(piece.key, f"knowledge/{id}")

    def _link(self, piece: Piece) -> None:
        graph, conversation = self.memory.graph, str(self.conversation)
        if piece.kind == TRANSCRIPT:
            written = graph.write_transcript(piece.key, conversation, piece.text).memories
        else:
            written = graph.remember(piece.text, piece.kind, conversation_id=conversation).memories  # type: ignore[arg-type]
        self.keys.add(piece.key, *(f"graph/{one.memory_id}" for one in written))

    def _tell(self, piece: Piece) -> None:
        kept = self.memory.assistant.add(piece.text, piece.kind, user_id=self.user).memory
        self.keys.add(piece.key, f"assistant/{kept.id}")


def keeper_of(url: str, user: str, agent: str) -> Keeper:
    """Return the keeper of a user at a service, whose config has the agent."""
    memory = Client(
        url, token=user, tenant_id=TENANT, project_id=user, agent_id=agent, scope="project_shared",
        read_profile="private_plus_project", timeout_s=60.0,
    )  # fmt: skip
    return Keeper(memory, user, agent)
