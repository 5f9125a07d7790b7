"""Storing episodes, facts, rules and links, and telling how they proved themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated
from uuid import UUID

from elf.client.call import Call, T, filled, post, reader
from elf.client.families.knowledge import results as r
from elf.client.families.knowledge.inputs import (
    DEFAULT_IMPORTANCE,
    GLOBAL_SCOPE,
    MemoryType,
    NewEpisode,
    NewFact,
    NewRule,
    Permanence,
    Relation,
    all_to_send,
    to_send,
)
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ROOT = "/v1/knowledge"
MEMORY = f"{ROOT}/memories/{{memory_type}}/{{memory_id}}"
RULE = f"{ROOT}/rules/{{rule_id}}"

Key = Annotated[str | None, "makes a repeat harmless; without one the call has its own"]
Importance = Annotated[float, "0 to 10 (default: 5)"]
Scope = Annotated[str, "whom it is for: global, or the name of an agent (default: global)"]
Tags = Annotated[Sequence[str], "a word to sort it by; may be repeated"]
Metadata = Annotated[Mapping[str, object] | None, "a JSON object, kept as it is"]
Butler = Annotated[str | None, "the agent that found it"]
SourceEpisode = Annotated[UUID | str | None, "the episode that it is from"]


class Storing(FamilyClient[C_co]):
    """What is stored has an idempotency key, of the caller's or of the call's own: a repeat stores nothing twice."""

    @method
    def store_episode(
        self,
        content: Annotated[str, "what happened"],
        butler: Annotated[str, "the agent whose session it was"],
        *,
        session_id: UUID | str | None = None,
        importance: Importance = DEFAULT_IMPORTANCE,
        metadata: Metadata = None,
        idempotency_key: Key = None,
    ) -> Call[r.StoredEpisode]:
        """Store what happened in a session."""
        episode = {
            "content": content, "butler": butler, "session_id": session_id, "importance": importance,
            "metadata": metadata, "idempotency_key": idempotency_key,
        }  # fmt: skip
        return self._one("episodes", episode, r.StoredEpisode)

    @method
    def store_episodes(
        self,
        items: Annotated[Sequence[NewEpisode | Mapping[str, object]], "the fields of an episode, as JSON"],
    ) -> Call[r.StoredEpisodes]:
        """Store up to 256 episodes: all, or none."""
        return self._many("episodes", items, r.StoredEpisodes)

    @method
    def store_fact(
        self,
        subject: Annotated[str, "whom or what it is about"],
        predicate: Annotated[str, "what of it is told"],
        content: Annotated[str, "what is known"],
        *,
        importance: Importance = DEFAULT_IMPORTANCE,
        permanence: Annotated[Permanence, "how fast it fades (default: standard)"] = "standard",
        scope: Scope = GLOBAL_SCOPE,
        tags: Tags = (),
        metadata: Metadata = None,
        source_butler: Butler = None,
        source_episode_id: SourceEpisode = None,
        entity_id: Annotated[
            UUID | str | None, "the entity that it is about, in place of the subject"
        ] = None,
        idempotency_key: Key = None,
    ) -> Call[r.StoredFact]:
        """Store what is known of a subject, in place of what was known.

        It supersedes the active fact of the same scope, subject (or entity) and predicate. Raises ScopeDenied for the
        scope of another user, InvalidRequest for an entity or an episode that is unknown.
        """
        fact = {
            "subject": subject, "predicate": predicate, "content": content, "importance": importance,
            "permanence": permanence, "scope": scope, "tags": list(tags), "metadata": metadata,
            "source_butler": source_butler, "source_episode_id": source_episode_id, "entity_id": entity_id,
            "idempotency_key": idempotency_key,
        }  # fmt: skip
        return self._one("facts", fact, r.StoredFact)

    @method
    def store_facts(
        self, items: Annotated[Sequence[NewFact | Mapping[str, object]], "the fields of a fact, as JSON"]
    ) -> Call[r.StoredFacts]:
        """Store up to 256 facts in their order: all, or none."""
        return self._many("facts", items, r.StoredFacts)

    @method
    def store_rule(
        self,
        content: Annotated[str, "what to do, or not to do, and when"],
        *,
        scope: Scope = GLOBAL_SCOPE,
        tags: Tags = (),
        metadata: Metadata = None,
        source_butler: Butler = None,
        source_episode_id: SourceEpisode = None,
        idempotency_key: Key = None,
    ) -> Call[r.StoredRule]:
        """Store how to behave. Raises as `store_fact` does."""
        rule = {
            "content": content, "scope": scope, "tags": list(tags), "metadata": metadata,
            "source_butler": source_butler, "source_episode_id": source_episode_id,
            "idempotency_key": idempotency_key,
        }  # fmt: skip
        return self._one("rules", rule, r.StoredRule)

    @method
    def store_rules(
        self, items: Annotated[Sequence[NewRule | Mapping[str, object]], "the fields of a rule, as JSON"]
    ) -> Call[r.StoredRules]:
        """Store up to 256 rules: all, or none."""
        return self._many("rules", items, r.StoredRules)

    @method
    def link(
        self,
        source_type: MemoryType,
        source_id: UUID | str,
        relation: Relation,
        target_type: MemoryType,
        target_id: UUID | str,
    ) -> Call[r.CreatedLink]:
        """Link a memory to another.

        There is one link from the first to the second: another call changes nothing, and is answered with what stands.
        """
        ends = {
            "source_type": source_type, "source_id": source_id, "target_type": target_type, "target_id": target_id,
        }  # fmt: skip
        return post(f"{ROOT}/links", {**self.owner, **ends, "relation": relation}, reader(r.CreatedLink))

    @method
    def confirm(self, memory_type: MemoryType, memory_id: UUID | str) -> Call[r.Confirmed]:
        """Tell that a fact or a rule is still true.

        It begins to fade anew. Raises NotFound, and InvalidRequest for an episode and for what is no longer active.
        """
        return self._of_memory("confirm", memory_type, memory_id, r.Confirmed)

    @method
    def forget(self, memory_type: MemoryType, memory_id: UUID | str) -> Call[r.Forgotten]:
        """Have a memory no longer found. Raises NotFound."""
        return self._of_memory("forget", memory_type, memory_id, r.Forgotten)

    @method
    def mark_helpful(
        self, rule_id: UUID | str, *, context: Annotated[str | None, "where it was applied"] = None
    ) -> Call[r.Rule]:
        """Tell that a rule was applied and helped.

        Sent again only when the first request surely did nothing, for each mark counts. Raises NotFound, and
        InvalidRequest for a rule that is forgotten.
        """
        return self._mark("helpful", rule_id, {"context": context})

    @method
    def mark_harmful(
        self,
        rule_id: UUID | str,
        *,
        reason: Annotated[str | None, "what went wrong"] = None,
        context: Annotated[str | None, "where it was applied"] = None,
    ) -> Call[r.Rule]:
        """Tell that a rule was applied and did harm. Sent again, and raises, as `mark_helpful`."""
        return self._mark("harmful", rule_id, {"reason": reason, "context": context})

    def _one(self, kind: str, item: Mapping[str, object], answer: type[T]) -> Call[T]:
        sent = to_send(item)
        assert isinstance(sent, dict)
        return post(f"{ROOT}/{kind}", {**self.owner, **sent}, reader(answer))

    def _many(self, kind: str, items: Sequence[object], answer: type[T]) -> Call[T]:
        return post(f"{ROOT}/{kind}/batch", {**self.owner, "items": all_to_send(items)}, reader(answer))

    def _of_memory(
        self, verb: str, memory_type: MemoryType, memory_id: UUID | str, answer: type[T]
    ) -> Call[T]:
        path = filled(MEMORY, {"memory_type": memory_type, "memory_id": memory_id})
        return post(f"{path}/{verb}", self.owner, reader(answer))

    def _mark(self, outcome: str, rule_id: UUID | str, said: Mapping[str, object]) -> Call[r.Rule]:
        path = filled(RULE, {"rule_id": rule_id})
        return post(f"{path}/{outcome}", {**self.owner, **said}, reader(r.Rule), repeat="undone")
