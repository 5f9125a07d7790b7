"""What is written back becomes of: the memories of a message, of the outputs of a workflow's step, of a finding."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from elf.core.secrets import find_secret
from elf.families.graph.model import MAX_CONTENT_CHARS, NodeType, Source
from elf.families.graph.rules.ids import derived_id
from elf.families.graph.rules.texts import collapse

RELATED_WEIGHT: Final = 0.7
FIRST_ATTEMPT: Final = 1

_KINDS: Final[tuple[tuple[str, NodeType, int], ...]] = (
    ("decision", "Decision", 75),
    ("todo", "Todo", 65),
    ("goal", "Goal", 70),
    ("preference", "Preference", 60),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A memory to be. `content` has its whitespace collapsed; `at` is where it stands in the request."""

    memory_id: str
    type: NodeType
    importance: int
    confidence: float
    content: str
    at: str

    @property
    def refusal(self) -> str | None:
        """Why it is not taken in; None for one that is."""
        if not self.content:
            return "empty_content"
        if len(self.content) > MAX_CONTENT_CHARS:
            return "content_too_long"
        return None if find_secret(self.content) is None else "secret_detected"


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteBack:
    """What is written back at once. `key` is its name in logs; `series` is the same for each attempt at it.

    `related` are the memories that what is captured follows from.
    """

    key: str
    series: str
    attempt: int
    source: Source
    captured: Sequence[Captured]
    related: Sequence[str] = ()


def of_message(message_id: str, text: str, source: Source, *, user: str | None = None) -> WriteBack:
    """Return what becomes of a message in a channel: an observation, whatever else it may be.

    What a user's call writes back is apart from what others write back under the same names, here as below.
    """
    memory_id = derived_id("t", message_id, *_of_user(user))
    observation = _observation(memory_id, text, importance=45, confidence=0.7)
    return WriteBack(
        key=f"channel_transcript:{message_id}",
        series=memory_id,
        attempt=FIRST_ATTEMPT,
        source=source,
        captured=[observation],
    )


def of_outputs(
    run_id: str,
    step_id: str,
    attempt: int,
    outputs: Mapping[str, Any],
    source: Source,
    *,
    user: str | None = None,
) -> WriteBack:
    """Return what becomes of the outputs of a step: a memory each, of a kind that its name tells.

    A later attempt at the step has the same memories.
    """
    return WriteBack(
        key=f"workflow_output:{run_id}:{step_id}:{attempt}",
        series=derived_id("w", run_id, step_id, *_of_user(user)),
        attempt=attempt,
        source=source,
        captured=[_output(run_id, step_id, name, value, user) for name, value in outputs.items()],
    )


def of_finding(
    finding_id: str, text: str, related: Sequence[str], source: Source, *, user: str | None = None
) -> WriteBack:
    """Return what becomes of a finding of diagnostics: an observation that other memories are related to."""
    memory_id = derived_id("d", finding_id, *_of_user(user))
    observation = _observation(memory_id, text, importance=70, confidence=0.8)
    return WriteBack(
        key=f"diagnostics:{finding_id}",
        series=memory_id,
        attempt=FIRST_ATTEMPT,
        source=source,
        captured=[observation],
        related=list(dict.fromkeys(related)),
    )


def edge_id_of(related: str, memory_id: str) -> str:
    """Return the id of the edge from a related memory to a finding."""
    return derived_id("d", related, memory_id)


def _of_user(user: str | None) -> tuple[str, ...]:
    """Return what a user adds to the parts of an id: as many parts as no other id of its origin has."""
    return () if user is None else ("", "user", user)


def _observation(memory_id: str, text: str, *, importance: int, confidence: float) -> Captured:
    return Captured(
        memory_id=memory_id,
        type="Observation",
        importance=importance,
        confidence=confidence,
        content=collapse(text),
        at="$.text",
    )


def _output(run_id: str, step_id: str, name: str, value: Any, user: str | None) -> Captured:
    node_type, importance = _kind_of(name)
    return Captured(
        memory_id=derived_id("w", run_id, step_id, name, *_of_user(user)),
        type=node_type,
        importance=importance,
        confidence=0.75,
        content=collapse(_told(name, value)),
        at=f"$.outputs.{name}",
    )


def _kind_of(name: str) -> tuple[NodeType, int]:
    folded = name.casefold()
    return next(
        ((node_type, importance) for word, node_type, importance in _KINDS if word in folded), ("Fact", 55)
    )


def _told(name: str, value: Any) -> str:
    """Return a value as text: texts as they are, lists of them one behind the other, anything else with its name."""
    match value:
        case None:
            return ""
        case str():
            return value
        case list() if all(isinstance(one, str) for one in value):
            return "; ".join(value)
        case _:
            return f"{name}: {json.dumps(value, ensure_ascii=False)}"
