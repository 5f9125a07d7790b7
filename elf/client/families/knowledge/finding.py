"""Searching, recalling, context for a prompt, and why something was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated
from uuid import UUID

from elf.client.call import Call, Listing, get, listing, post, reader
from elf.client.families.knowledge import results as r
from elf.client.families.knowledge.inputs import MemoryType, SearchMode
from elf.client.families.knowledge.storing import ROOT
from elf.client.family import C_co, FamilyClient
from elf.client.method import method
from elf.client.results import Page

Scope = Annotated[str | None, "global and this one; left out, all"]
Limit = Annotated[int, "how many at most, 1 to 100 (default: 10)"]
MinConfidence = Annotated[
    float, "least confidence as faded by now (default: 0.2); below it, what is fading, too"
]


class Finding(FamilyClient[C_co]):
    """What is known of something. A scope reads that of everybody, `global`, and its own."""

    @method
    def search(
        self,
        query: str,
        *,
        types: Annotated[Sequence[MemoryType] | None, "which kind; may be repeated (default: all)"] = None,
        scope: Scope = None,
        mode: Annotated[SearchMode | None, "by meaning, by words or both (default: the config's)"] = None,
        limit: Limit = 10,
        min_confidence: MinConfidence = 0.2,
    ) -> Call[r.Findings]:
        """Find memories by meaning and by words. Raises ScopeDenied for the scope of another user."""
        body = {
            "query": query, "types": None if types is None else list(types), "scope": scope, "mode": mode,
            "limit": limit, "min_confidence": min_confidence,
        }  # fmt: skip
        return post(f"{ROOT}/search", {**self.owner, **body}, _findings())

    @method
    def recall(
        self, topic: str, *, scope: Scope = None, limit: Limit = 10, min_confidence: MinConfidence = 0.2
    ) -> Call[r.Findings]:
        """Find the facts and rules that matter most for a topic.

        Each counts as referenced, and once more when the call had to be sent again. Raises as `search` does.
        """
        body = {"topic": topic, "scope": scope, "limit": limit, "min_confidence": min_confidence}
        return post(f"{ROOT}/recall", {**self.owner, **body}, _findings())

    @method
    def context(
        self,
        trigger_prompt: Annotated[str, "what the agent is about to work on"],
        butler: Annotated[str, "the agent"],
        *,
        token_budget: Annotated[
            int | None, "most tokens, of 4 characters each (default: the config's)"
        ] = None,
    ) -> Call[r.ContextBlock]:
        """Put what is known into words for a prompt.

        Without Postgres the text is a bare header, and `degraded` names the storage.
        """
        body = {"trigger_prompt": trigger_prompt, "butler": butler, "token_budget": token_budget}
        return post(f"{ROOT}/context", {**self.owner, **body}, reader(r.ContextBlock))

    @method
    def explain(self, result_handle: UUID | str) -> Call[r.Explanation]:
        """Say why a result is where it is. Raises NotFound, also for a trace that is not stored yet."""
        params = {**self.owner, "result_handle": result_handle}
        return get(f"{ROOT}/explain", params, reader(r.Explanation))

    @method
    def traces(
        self, *, limit: Annotated[int | None, "how many a page"] = None, cursor: str | None = None
    ) -> Listing[r.TraceSummary]:
        """List one's searches and recalls, newest first."""
        return listing(f"{ROOT}/traces", {**self.owner, "limit": limit}, Page[r.TraceSummary], cursor)

    @method
    def stats(self, *, scope: Scope = None) -> Call[r.Stats]:
        """Count memories by their states. Raises as `search` does."""
        return get(f"{ROOT}/stats", {**self.owner, "scope": scope}, reader(r.Stats))


def _findings() -> Callable[[bytes], r.Findings]:
    read = reader(r.RawFindings)
    return lambda content: read(content).read()
