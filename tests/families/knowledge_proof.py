"""What a tenant knows, what of it others must not be told, and random work with it."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from tests.families.fronts import Fronts
from tests.families.identities import FREE
from tests.families.rows import CALLERS, COLLEAGUE, FOREIGN, INCOMPLETE, NARROW, Attempt, Caller, Kind, Row
from tests.families.work import WorkClient
from tests.system.service import wait_for

OWNER: Final = Caller("the owner", COLLEAGUE, {}, identity=FREE)
"""Whoever is of the tenant and no user: what comes from users is tried by the users of a tenant."""
NOT_THEIRS: Final = frozenset({FOREIGN, INCOMPLETE})
SHARED: Final = dict.fromkeys([COLLEAGUE, NARROW], "whoever is of the tenant shares what it knows")
TOOL: Final = "knowledge "  # tools of the same name are at another path
PASSING: Final = frozenset({"reference_count", "last_referenced_at", "effective_confidence"})


def by_tenant(caller: Caller) -> Caller:
    """A caller as knowledge meets it, which knows no project and no agent: the tenant alone is a wall."""
    changes = {key: value for key, value in caller.changes.items() if key == "tenant_id"}
    known = replace(caller, changes=changes, apart=("tenant_id",))
    is_bound_by_tenant = (
        caller.identity is not None
        and caller.identity.bound is not None
        and caller.identity.bound[0] == "tenant_id"
    )
    if caller.always == 401 or is_bound_by_tenant:
        return known
    if changes:
        return replace(known, kind=INCOMPLETE, always=400) if None in changes.values() else known
    return replace(known, kind=COLLEAGUE, always=None, naming="")


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    """What a tenant knows: two facts of one key of which the later is active, a rule, an episode, three entities, and
    the handle of a search. Each holds the `word`, which nothing else does. `headers` prove who it is of, if anybody.
    """

    fronts: Fronts
    place: Mapping[str, str]
    word: str
    fact: str
    superseded: str
    rule: str
    episode: str
    entity: str
    other_entity: str
    spare: str
    trace: str
    handle: str
    headers: Mapping[str, str] | None = None

    @property
    def ids(self) -> list[str]:
        return [
            self.fact, self.superseded, self.rule, self.episode, self.entity, self.other_entity, self.spare, self.trace,
            self.handle,
        ]  # fmt: skip

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        return () if kind in SHARED else [self.word, *self.ids]

    def unknown(self, kind: Kind) -> Knowledge:
        new = [str(uuid4()) for _ in self.ids]
        fact, superseded, rule, episode, entity, other_entity, spare, trace, handle = new
        return replace(
            self, fact=fact, superseded=superseded, rule=rule, episode=episode, entity=entity,
            other_entity=other_entity, spare=spare, trace=trace, handle=handle,
        )  # fmt: skip

    def of(self, caller: Caller) -> Knowledge:
        return self

    def state(self) -> object:
        """Everything but what reading changes."""
        ask = self.fronts.public.ask
        lists = [
            ("list_facts", {"validity": validity})
            for validity in ("active", "superseded", "expired", "retracted")
        ]
        lists += [("list_rules", {}), ("list_rules", {"forgotten": "true"}), ("list_episodes", {})]
        lists += [("list_entities", {}), ("list_entities", {"merged": "true"})]
        return [
            [
                {key: value for key, value in item.items() if key not in PASSING}
                for item in ask(name, {**self.place, **where}, headers=self.headers).body["items"]
            ]
            for name, where in lists
        ]


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS, *, owner: Caller | None = None) -> Knowledge:
    """Have a new tenant know something, by its `owner` or an operator; it is found before this returns."""
    word = f"w{uuid4().hex[:12]}"
    place = {"tenant_id": f"tenant {uuid4()}"}
    headers = None if owner is None else owner.headers(fronts.identities, place)

    def ask(name: str, **arguments: Any) -> Any:
        reply = fronts.public.ask(name, {**place, **arguments}, headers=headers)
        assert reply.ok, reply.text
        return reply.body

    entity = ask("create_entity", canonical_name=f"Ana {word}", entity_type="person", aliases=[f"A {word}"])
    other = ask("create_entity", canonical_name=f"Anita {word}", entity_type="person")
    spare = ask("create_entity", canonical_name=f"Anna {word}", entity_type="person")
    episode = ask("store_episode", content=f"The {word} was seen.", butler="travel")["id"]
    said = {"subject": "Ana", "predicate": "seat", "source_episode_id": episode}
    superseded = ask("store_fact", **said, content=f"by the window {word}")["id"]
    fact = ask("store_fact", **said, content=f"on the aisle {word}")["id"]
    ask("store_fact", subject="Ana", predicate="meal", content=f"fish {word}", entity_id=entity["entity_id"])
    rule = ask("store_rule", content=f"Ask about {word} first")["id"]
    ask(
        "create_link",
        source_type="rule",
        source_id=rule,
        target_type="fact",
        target_id=fact,
        relation="supports",
    )
    found = ask("search_knowledge", query=f"aisle {word}", types=["fact"])
    handle = next(item["result_handle"] for item in found["items"] if item["id"] == fact)
    wait_for(
        lambda: fronts.public.ask("explain_result", {**place, "result_handle": handle}, headers=headers).ok,
        "the search is traced",
    )
    return Knowledge(
        fronts=fronts, place=place, word=word, fact=fact, superseded=superseded, rule=rule, episode=episode,
        entity=entity["entity_id"], other_entity=other["entity_id"], spare=spare["entity_id"],
        trace=found["trace_id"], handle=handle, headers=headers,
    )  # fmt: skip


def _field(world: Knowledge, value: Any) -> Any:
    return value(world) if callable(value) else value


def _reading(label: str, *, refused: bool = False, sees: bool = True, **fields: Any) -> Attempt:
    """Something to be told; `refused`: it is answered as unknown."""
    return Attempt(
        label=label,
        arguments=lambda world, own: {name: _field(world, value) for name, value in fields.items()},
        refused=NOT_THEIRS if refused else frozenset(),
        owner_sees=sees,
    )


def _changing(label: str, *, refused: bool = True, **fields: Any) -> Attempt:
    """Something to be changed, or taken, which whoever is of the tenant may do."""
    return replace(_reading(label, refused=refused, sees=False, **fields), tried_by=NOT_THEIRS)


def _reads(*names: str, attempts: Sequence[Attempt]) -> Row:
    return Row(names=names, attempts=attempts)


def _changes(*names: str, attempts: Sequence[Attempt]) -> Row:
    return Row(names=names, attempts=attempts, open_to=SHARED)


def _all_kinds(**more: Any) -> list[Attempt]:
    return [
        _reading(f"the {kind} by id", refused=True, memory_type=kind, memory_id=_id(kind), **more)
        for kind in ("fact", "rule", "episode")
    ]


def _id(kind: str) -> Any:
    return lambda world: getattr(world, kind)


def _word(world: Knowledge) -> str:
    return world.word


def _query(world: Knowledge) -> str:
    return f"aisle {world.word}"


_FACT: Final = {"memory_type": "fact", "memory_id": _id("fact")}
_KEY: Final = {"subject": "Ana", "predicate": "seat"}

ROWS: Final = (
    # First, for a caller's own searches hold the words that it was after.
    _reads("knowledge_traces", attempts=[_reading("all", sees=False)]),
    _reads("get_memory", f"{TOOL}memory_get", attempts=_all_kinds()),
    _reads("memory_history", attempts=[_reading("of the fact", refused=True, **_FACT)]),
    _reads("memory_links", attempts=[_reading("of the fact", refused=True, **_FACT)]),
    _reads("list_episodes", attempts=[_reading("of the agent", butler="travel")]),
    _reads("list_facts", attempts=[_reading("of the subject", **_KEY)]),
    _reads("list_rules", attempts=[_reading("all", scope="global")]),
    _reads("list_entities", attempts=[_reading("all")]),
    _reads("list_events", attempts=[_reading("all"), _reading("of the fact", sees=False, memory_id=_id("fact"))]),
    _reads(
        "search_knowledge", f"{TOOL}memory_search",
        attempts=[_reading("by its words", query=_query), _reading("by meaning", query=_query, mode="semantic")],
    ),
    _reads("recall", f"{TOOL}memory_recall", attempts=[_reading("by its words", topic=_query)]),
    _reads(
        "memory_context", f"{TOOL}memory_context",
        attempts=[_reading("for a prompt", trigger_prompt=_query, butler="travel")],
    ),
    _reads("explain_result", attempts=[_reading("of the search", refused=True, result_handle=_id("handle"))]),
    _reads("knowledge_stats", f"{TOOL}memory_stats", attempts=[
        replace(_reading("all", sees=False), check=lambda reply, own: None)
    ]),
    _reads("get_entity", f"{TOOL}entity_get", attempts=[_reading("by id", refused=True, entity_id=_id("entity"))]),
    _reads(
        "resolve_entity", f"{TOOL}entity_resolve",
        attempts=[
            _reading("by its word", name=_word),
            _reading("what is alike", name=lambda world: f"Anna {world.word}", enable_fuzzy=True),
        ],
    ),
    _changes(
        "store_episode", f"{TOOL}memory_store_episode",
        attempts=[_changing("for the same agent", refused=False, content="Ana slept.", butler="travel")],
    ),
    _changes("store_episodes", attempts=[
        _changing("for the same agent", refused=False, items=[{"content": "Ana slept.", "butler": "travel"}])
    ]),
    _changes(
        "store_fact",
        attempts=[
            _changing("of the same key", refused=False, **_KEY, content="anywhere"),
            _changing("of the entity", entity_id=_id("entity"), **_KEY, content="anywhere"),
            _changing("from the episode", source_episode_id=_id("episode"), **_KEY, content="anywhere"),
        ],
    ),
    _changes(
        f"{TOOL}memory_store_fact",
        attempts=[_changing("of the same key", refused=False, **_KEY, content="anywhere")],
    ),
    _changes("store_facts", attempts=[
        _changing("of the same key", refused=False, items=[{**_KEY, "content": "anywhere"}])
    ]),
    _changes("store_rule", f"{TOOL}memory_store_rule", attempts=[
        _changing("of the same words", refused=False, content="Ask first")
    ]),
    _changes("store_rules", attempts=[_changing("of the same words", refused=False, items=[{"content": "Ask"}])]),
    _changes(
        "create_link",
        attempts=[
            _changing(
                "between what is known", source_type="rule", source_id=_id("rule"), target_type="episode",
                target_id=_id("episode"), relation="related_to",
            )
        ],
    ),
    _changes("confirm_memory", f"{TOOL}memory_confirm", attempts=[
        _changing("the rule", memory_type="rule", memory_id=_id("rule"))
    ]),
    _changes("forget_memory", f"{TOOL}memory_forget", attempts=[
        _changing("the superseded fact", memory_type="fact", memory_id=_id("superseded")),
    ]),
    _changes("mark_helpful", f"{TOOL}memory_mark_helpful", attempts=[_changing("the rule", rule_id=_id("rule"))]),
    _changes("mark_harmful", f"{TOOL}memory_mark_harmful", attempts=[_changing("the rule", rule_id=_id("rule"))]),
    _changes(
        "create_entity", f"{TOOL}entity_create",
        attempts=[
            _changing("another", refused=False, canonical_name=lambda world: f"B {uuid4()}", entity_type="person")
        ],
    ),
    _changes("update_entity", f"{TOOL}entity_update", attempts=[
        _changing("its aliases", entity_id=_id("entity"), aliases=["nobody"])
    ]),
    _changes(
        "merge_entities",
        attempts=[
            _changing("both", source_entity_id=_id("other_entity"), target_entity_id=_id("entity")),
        ],
    ),
    _changes(
        f"{TOOL}entity_merge",
        attempts=[_changing("two others", source_entity_id=_id("spare"), target_entity_id=_id("entity"))],
    ),
    _changes("run_consolidation", f"{TOOL}memory_run_consolidation", attempts=[
        _changing("the episodes", refused=False)
    ]),
    _changes("run_episode_cleanup", f"{TOOL}memory_run_episode_cleanup", attempts=[
        _changing("the episodes", refused=False, max_entries=0)
    ]),
    *(
        Row(names=(name,), attempts=[_changing("its own", refused=False, **more)], open_to=SHARED, spans=True)
        for name, more in (
            ("decay_sweep", {}), ("consolidate_all", {}), ("clean_up_all", {"max_entries": 0}),
            ("requeue_episodes", {}),
            ("reembed_knowledge", {}),
        )
    ),
    Row(names=("dead_letters",), attempts=[_reading("all", sees=False)], spans=True),
    _changes("share_knowledge", attempts=[
        _changing("the rule", memory_type="rule", memory_id=_id("rule"), shared=True)
    ]),
    # Last, for nothing of the owner is left when it has done this itself.
    _changes("erase_knowledge", attempts=[_changing("all", refused=False, what="tenant")]),
    Row(names=("knowledge_schedules",), whole_service="when work is due tells nothing of anybody"),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class FactClaim:
    """A fact that was acknowledged."""

    subject: str
    id: str
    content: str


class KnowledgeWork:
    """Stores facts of a few subjects, so that each supersedes another, and an episode and a rule now and then."""

    def do(self, client: WorkClient) -> Iterator[FactClaim]:
        client.place = {"tenant_id": client.place["tenant_id"]}
        subject, content = f"subject {client.rng.randrange(5)}", f"content {_word_of(client)}"
        stored = client.ask(
            "store_fact", subject=subject, predicate="p", content=content, idempotency_key=_key(client)
        )
        yield FactClaim(subject, stored["id"], content)
        if client.rng.random() < 0.3:
            client.ask("store_episode", content=content, butler="b", idempotency_key=_key(client))
            client.ask("store_rule", content=content, idempotency_key=_key(client))

    def problems(self, client: WorkClient, claims: Sequence[FactClaim]) -> list[str]:
        client.place = {"tenant_id": client.place["tenant_id"]}
        wrong = []
        for claim in claims:
            fact = client.ask("get_memory", memory_type="fact", memory_id=claim.id)
            if fact["content"] != claim.content or fact["validity"] not in ("active", "superseded"):
                wrong.append(f"{claim} is {fact['content']}, {fact['validity']}")
        active = Counter(fact["subject"] for fact in client.ask("list_facts", limit=200)["items"])
        for subject in {claim.subject for claim in claims}:
            if active[subject] != 1:
                wrong.append(f"{subject} has {active[subject]} active facts")
                continue
            (newest,) = client.ask("list_facts", subject=subject)["items"]
            chain = client.ask("memory_history", memory_type="fact", memory_id=newest["id"])["supersession"]
            known = {fact["id"] for fact in chain}
            lost = [claim.id for claim in claims if claim.subject == subject and claim.id not in known]
            if lost:
                wrong.append(f"the chain of {subject} lacks {lost}")
        return wrong


def _key(client: WorkClient) -> str:
    return f"key {_word_of(client)}"


def _word_of(client: WorkClient) -> str:
    """A new word; numbers as long might be those of cards, which are blanked."""
    return "".join(client.rng.choices(string.ascii_lowercase, k=16))
