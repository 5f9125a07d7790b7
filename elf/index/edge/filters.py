"""Filters of the port as filters of the engine, made cheap by composite keys.

The engine looks up one condition in its field index and checks every further condition point by point: on
20,000 points the usual filter (tenant, project, status, version and two alternatives of scope) costs 9 ms, a
single one 1.5 ms. So each point also stores, in one indexed field, a digest for each of the shapes, which are
the space's combined_fields, and a filter that fixes all fields of a shape becomes a lookup of digests. What a
shape does not cover stays an ordinary condition, and so do the choice of many values, key prefixes, periods
and tags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import product
from typing import Final, TypeAlias
from uuid import UUID

import qdrant_edge as engine

from elf.index.edge.protocol import WireFilter, split_ids
from elf.index.schema import CREATED_AT_FIELD, EVERY_TAG, KEY_FIELD, TAGS_FIELD

KEYS_FIELD: Final = "_keys"
MAX_KEYS: Final = 64  # more combinations than this are cheaper as ordinary conditions

Branch: TypeAlias = dict[str, tuple[str, ...]]
Shapes: TypeAlias = Sequence[Sequence[str]]


def composite_keys(payload: Mapping[str, object], shapes: Shapes) -> list[str]:
    """Return the digests of a point, one for each shape whose fields are all strings."""
    keys = []
    for shape in shapes:
        values = [payload.get(field) for field in shape]
        if all(isinstance(value, str) for value in values):
            keys.append(_digest(shape, [str(value) for value in values]))
    return keys


def compile_filter(where: WireFilter, shapes: Shapes, *, some_undated: bool) -> engine.Filter | None:
    """Return the engine's filter (an empty one matches everything), or None when no point can match.

    some_undated: whether there are points without CREATED_AT_FIELD, which all but equalities let through.
    """
    branches = _branches(where.must, where.any_of)
    if not branches or (where.within is not None and not where.within.values):
        return None
    narrow = _narrow_conditions(where)
    if narrow and some_undated:
        undated = engine.FieldCondition(CREATED_AT_FIELD, is_empty=True)
        narrow = [engine.Filter(should=[undated, engine.Filter(must=narrow)])]
    if where.within is not None:
        narrow.append(engine.FieldCondition(where.within.field, engine.MatchAny(list(where.within.values))))
    return _compiled(branches, narrow, shapes)


def _narrow_conditions(where: WireFilter) -> list[engine.ConditionType]:
    conditions: list[engine.ConditionType] = []
    if where.key_prefix is not None:
        conditions.append(engine.FieldCondition(KEY_FIELD, engine.MatchPrefix(where.key_prefix)))
    for field, (since, before) in where.periods.items():
        conditions.append(engine.FieldCondition(field, range=engine.RangeDateTime(gte=since, lt=before)))
    for tag in split_ids(where.tags):
        either = engine.MatchAny([str(UUID(bytes=tag)), str(EVERY_TAG)])
        conditions.append(engine.FieldCondition(TAGS_FIELD, either))
    return conditions


def _compiled(
    branches: Sequence[Branch], narrow: list[engine.ConditionType], shapes: Shapes
) -> engine.Filter:
    split = [_split(branch, shapes) for branch in branches]
    rests = [rest for _, rest in split]
    if all(rest == rests[0] for rest in rests):
        shared, alternatives = _conditions(rests[0]), [_any_key(keys) for keys, _ in split]
    else:
        shared = []
        alternatives = [
            [engine.Filter(must=_conditions(rest), should=_any_key(keys))] for keys, rest in split
        ]
    if not all(
        alternatives
    ):  # one alternative asks for nothing beyond what is shared, so the others add nothing
        return engine.Filter(must=shared + narrow)
    return engine.Filter(
        must=shared + narrow, should=[condition for group in alternatives for condition in group]
    )


def _branches(must: Mapping[str, str], any_of: Sequence[Mapping[str, Sequence[str]]] | None) -> list[Branch]:
    """Multiply the filter out: each branch holds whole or not at all; those that cannot hold are left out."""
    base: Branch = {field: (value,) for field, value in must.items()}
    branches = [_merged(base, alternative) for alternative in any_of] if any_of is not None else [base]
    return [branch for branch in branches if all(branch.values())]


def _merged(base: Branch, alternative: Mapping[str, Sequence[str]]) -> Branch:
    merged = dict(base)
    for field, values in alternative.items():
        known = dict.fromkeys(values)  # thousands, it may be
        merged[field] = tuple(known if field not in base else (one for one in base[field] if one in known))
    return merged


def _split(branch: Branch, shapes: Shapes) -> tuple[list[str], Branch]:
    """Return the digests for the part of a branch that a shape covers, and the part that it does not."""
    for shape in shapes:  # the first one that the branch covers is the one it uses
        if not all(field in branch for field in shape):
            continue
        combinations = list(product(*(branch[field] for field in shape)))
        if len(combinations) <= MAX_KEYS:
            rest = {field: values for field, values in branch.items() if field not in shape}
            return [_digest(shape, combination) for combination in combinations], rest
    return [], branch


def _digest(shape: Sequence[str], values: Sequence[str]) -> str:
    digest = blake2b(digest_size=16, person=f"elf{len(shape)}".encode())
    for value in values:
        encoded = value.encode()
        digest.update(len(encoded).to_bytes(4, "big"))  # so that no two lists of values read the same
        digest.update(encoded)
    return str(UUID(bytes=digest.digest()))


def _any_key(keys: Sequence[str]) -> list[engine.ConditionType]:
    # Several single matches: the engine plans them faster than one match of any.
    return [engine.FieldCondition(KEYS_FIELD, engine.MatchValue(key)) for key in keys]


def _conditions(branch: Branch) -> list[engine.ConditionType]:
    return [
        engine.FieldCondition(
            field, engine.MatchValue(values[0]) if len(values) == 1 else engine.MatchAny(list(values))
        )
        for field, values in branch.items()
    ]
