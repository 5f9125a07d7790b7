"""Answers as they are told."""

from __future__ import annotations

from collections.abc import Sequence

from elf.families.assistant.api import querying as q
from elf.families.assistant.memories.told import told
from elf.families.assistant.model import Memory
from elf.families.assistant.query.parts import Parts
from elf.families.assistant.rules.bullets import bullet
from elf.families.assistant.rules.delta import Delta
from elf.families.assistant.rules.ranking import Ranked


def answer(parts: Parts, request: q.Asked, *, tokenizer: str, has_vector: bool) -> q.QueryAnswer:
    """Return the answer to a request. `has_vector` is whether the query has one."""
    unheld = ["threshold"] if request.threshold is not None else []
    return q.QueryAnswer(
        delta=_delta(parts.updates),
        items=_told(
            [one.memory for one in parts.items], request.form, scores=[one.score for one in parts.items]
        ),
        context=_told(parts.context, request.form, scores=[None] * len(parts.context)),
        related=[
            q.Related(
                **dict(_bullet(one.memory)), of=one.of, relation_type=one.relation_type, strength=one.strength
            )
            for one in parts.related
        ],
        tokens=q.Tokens(budget=request.budget_tokens, used=parts.used, tokenizer=tokenizer),
        warnings=["RECALL_RATE"] if parts.recalls_often else [],
        degraded=[
            *([] if has_vector else ["embedding", *unheld]),
            *([] if parts.is_tracked else ["tracking"]),
        ],
        explanations=[_explained(one) for one in parts.items] if request.explain else None,
    )


def _delta(updates: Delta | None) -> q.Delta | None:
    if updates is None:
        return None
    return q.Delta(since_rev=updates.since_rev, rev=updates.rev, total=updates.total, text=updates.text)


def _told(
    memories: Sequence[Memory], form: q.Form, *, scores: Sequence[float | None]
) -> list[q.Bullet] | list[q.FullMemory]:
    if form == "bullets":
        return [_bullet(memory) for memory in memories]
    return [
        q.FullMemory(**dict(told(memory)), score=score)
        for memory, score in zip(memories, scores, strict=True)
    ]


def _bullet(memory: Memory) -> q.Bullet:
    return q.Bullet(id=memory.memory_id, category=memory.category, text=bullet(memory))


def _explained(one: Ranked) -> q.Explanation:
    return q.Explanation(
        id=one.memory.memory_id, score=one.score, terms=dict(one.terms), cosine=one.cosine, words=one.words
    )
