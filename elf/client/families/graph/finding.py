"""Recalling memories, and contexts for what an orchestrator does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from elf.client.call import Call, post, reader
from elf.client.families.graph import results as r
from elf.client.families.graph.inputs import NodeType
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ROOT = "/v1/graph"

MAX_CHARS = 4_000

Purpose: TypeAlias = Literal["selector", "step", "diagnostics"]
LegSize = Annotated[int | None, "how many this way finds at most; 0 switches it off (default: the config's)"]
MaxChars = Annotated[int, "how long a bulletin may be, in characters (default: 4000)"]


class Finding(FamilyClient[C_co]):
    """What an orchestrator knows of something. All raise ScopeDenied for another one's memory."""

    @method
    def recall(
        self,
        query: Annotated[str, "what is looked for, in words"],
        *,
        top_n: Annotated[int | None, "how many at most, 1 to 100 (default: the config's)"] = None,
        types: Annotated[Sequence[NodeType] | None, "which kind; may be repeated (default: all)"] = None,
        conversations: Annotated[Sequence[str] | None, "of which conversation; may be repeated"] = None,
        min_importance: Annotated[int | None, "least importance, 0 to 100"] = None,
        superseded: Annotated[bool, "what was true once, too"] = False,
        rrf_k: Annotated[int | None, "the k of 1 / (k + rank) (default: the config's)"] = None,
        top_k_vector: LegSize = None,
        top_k_text: LegSize = None,
        explain: Annotated[bool, "with the terms of each score"] = False,
    ) -> Call[r.Bundle]:
        """Recall memories by meaning and by words."""
        body = {
            "query": query, "top_n": top_n, "types": None if types is None else list(types),
            "conversations": None if conversations is None else list(conversations),
            "min_importance": min_importance, "statuses": ["active", "superseded"] if superseded else None,
            "rrf_k": rrf_k, "top_k_vector": top_k_vector, "top_k_text": top_k_text, "explain": explain or None,
        }  # fmt: skip
        return post(f"{ROOT}/recall", {**self.owner, **body}, reader(r.Bundle))

    @method
    def bulletin(
        self,
        message_id: Annotated[str, "the id of the message"],
        message: Annotated[str, "what the message says"],
        *,
        max_chars: MaxChars = MAX_CHARS,
    ) -> Call[r.Context]:
        """Read what matters for a message before it is worked on.

        A message has one bulletin: the same id gives it again. Where it cannot be made, the last one is told, or an
        empty one, and `status` says so.
        """
        return self._context("selector", message_id=message_id, message=message, max_chars=max_chars)

    @method
    def context(
        self,
        purpose: Annotated[Purpose, "what it is for"],
        *,
        message_id: Annotated[str | None, "of selector and step: the id of the message"] = None,
        message: Annotated[str | None, "of selector and step: what the message says"] = None,
        prompt: Annotated[str | None, "of step and diagnostics: what is worked on"] = None,
        max_chars: MaxChars = MAX_CHARS,
    ) -> Call[r.Context]:
        """Get the context of a message, a step or an investigation."""
        return self._context(
            purpose, message_id=message_id, message=message, prompt=prompt, max_chars=max_chars
        )

    def _context(self, purpose: Purpose, **given: str | int | None) -> Call[r.Context]:
        return post(f"{ROOT}/context", {**self.owner, "purpose": purpose, **given}, reader(r.Context))
