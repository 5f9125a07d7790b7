"""A memory of crafted texts in a running service, and whether what it puts into a prompt is as it has to be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

from elf.client import Client, ElfError, InvalidRequest, NonEnglishInput
from elf.client.families.memories import MemoryContext
from elf.core.chunking import TokenCounter
from tests.crafted_texts import WORDS, crafted, faults_of_page
from tests.system.service import wait_for

TENANT: Final = "default"  # to which conversations belong where nobody is asked who calls
AGENT: Final = "supervisor"
QUERIES: Final = 20
SETTLED_WITHIN_S: Final = 240.0


class CraftedMemory:
    """What a user's families keep of crafted texts. `refused` are those that a family does not take."""

    def __init__(self, client: Client, user: str, counter: TokenCounter, rng: Random) -> None:
        self._client = client
        self._user = user
        self._counter = counter
        self._rng = rng
        self._queries = [" ".join(rng.choices(WORDS, k=3)) for _ in range(QUERIES)]
        self.kept: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.cited: Counter[str] = Counter()

    def keep(self, count: int) -> None:
        """Have each family keep so many texts, as far as it takes them."""
        conversation = self._client.conversations.create(title="Crafted").id
        for _ in range(count):
            for family in ("notes", "knowledge", "conversations", "graph", "assistant"):
                try:
                    self._keep(family, crafted(self._rng), conversation)
                except (InvalidRequest, NonEnglishInput):
                    self.refused[family] += 1
                else:
                    self.kept[family] += 1

    def _keep(self, family: str, text: str, conversation: Any) -> None:
        client, number = self._client, self._rng.getrandbits(32)
        if family == "notes":
            client.add_note(text, type="fact", scope="project_shared", key=f"k{number}")
        elif family == "knowledge":
            if number % 3 == 0:
                client.knowledge.store_rule(text)
            else:
                client.knowledge.store_fact(crafted(self._rng)[:200], f"says {number}", text)
        elif family == "conversations":
            client.conversations.append(conversation, [{"role": "USER", "text": text}])
        elif family == "graph":
            client.graph.remember(text, "Fact", conversation_id=str(conversation))
        else:
            client.assistant.add(text, "preferences", user_id=self._user, agent_id=AGENT)

    def settle(self) -> None:
        """Wait until all that is kept is indexed, and compared by its tokens: what is asked twice is answered alike."""
        wait_for(self._is_settled, "every answer stays as it is", timeout_s=SETTLED_WITHIN_S)

    def _is_settled(self) -> bool:
        first, second = (
            [
                self._client.memories.recall(
                    query, user_id=self._user, agent_id=AGENT, top_k=100, explain=True
                )
                for query in self._queries
            ]
            for _ in range(2)
        )
        return all(
            one.items == other.items
            and not one.degraded
            and all(item.relevance is not None for item in one.items)
            and all(out.relevance is not None or out.reason == "NOT_COMPARED" for out in one.left_out or ())
            for one, other in zip(first, second, strict=True)
        )

    def faults(self) -> list[str]:
        """Ask for a context twice, by a random query and budget, and return what is wrong with it."""
        query = self._rng.choice(self._queries)
        budget = self._rng.choice([64, 100, 2000, self._rng.randrange(64, 6000)])
        top_k = self._rng.randrange(1, 101)
        context, again = (self._context(query, budget, top_k) for _ in range(2))
        faults = faults_of_page(context.text, [one.marker for one in context.citations])
        counted = len(self._counter.spans(context.text))
        if counted != context.tokens or counted > budget:
            faults.append(f"{counted} tokens, said to be {context.tokens}, in a budget of {budget}")
        if (context.text, context.citations) != (again.text, again.citations):
            faults.append(f"asked twice it is not the same:\n{context.text}\n{again.text}")
        if context.degraded or context.skipped.keys() - {"notes"}:
            faults.append(f"without {context.degraded}, {context.skipped}")
        return faults + [fault for one in context.citations for fault in self._faults_of(one)]

    def _context(self, query: str, budget: int, top_k: int) -> MemoryContext:
        return self._client.memories.context(
            query, user_id=self._user, agent_id=AGENT, budget_tokens=budget, top_k=top_k
        )

    def _faults_of(self, cited: Any) -> list[str]:
        self.cited[cited.family] += 1
        try:
            self._client.memories.item(cited.family, cited.kind, cited.id, user_id=self._user, agent_id=AGENT)
        except ElfError as error:
            return [f"{cited} does not resolve: {error}"]
        return []


@contextmanager
def crafted_memory(url: str, user: str, counter: TokenCounter, rng: Random) -> Iterator[CraftedMemory]:
    """Open the memory of a user, in which nothing is kept yet."""
    with Client(url, tenant_id=TENANT, token=user, user=user, agent_id=AGENT) as client:
        yield CraftedMemory(client, user, counter, rng)
