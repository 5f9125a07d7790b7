"""Filters of the port as a Qdrant server takes them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from elf.index.port import IndexFilter
from elf.index.schema import CREATED_AT_FIELD, EVERY_TAG, KEY_FIELD, TAGS_FIELD

if TYPE_CHECKING:
    from qdrant_client import models


def server_filter(where: IndexFilter) -> models.Filter:
    """Return the server's filter; no alternative at all would be no condition to it."""
    from qdrant_client import models  # only a deployment with a Qdrant server pays for this import

    alternatives: list[models.Condition] = [
        models.Filter(must=_conditions(group)) for group in where.any_of or ()
    ]
    must = _conditions({field: [value] for field, value in where.must.items()})
    if where.within is not None:
        must += _conditions({where.within.field: list(where.within.values)})
    if where.is_narrow:
        must.append(models.Filter(should=[undated(), models.Filter(must=_narrow_conditions(where))]))
    return models.Filter(must=must, should=alternatives or None)


def server_corpus(where: IndexFilter, place_fields: Collection[str]) -> models.Filter:
    """Return the points among which the server counts words: those of the filter's place.

    What a reader may see of these would take half a search more: the server has no composite keys.
    """
    from qdrant_client import models

    place = {field: [value] for field, value in where.must.items() if field in place_fields}
    return models.Filter(must=_conditions(place))


def undated() -> models.Condition:
    """Return what holds for the points without CREATED_AT_FIELD."""
    from qdrant_client import models

    return models.IsEmptyCondition(is_empty=models.PayloadField(key=CREATED_AT_FIELD))


def _conditions(fields: Mapping[str, Sequence[str]]) -> list[models.Condition]:
    from qdrant_client import models

    def match(values: Sequence[str]) -> models.MatchValue | models.MatchAny:
        # One value as such: the engine checks it quicker than a choice of one.
        return models.MatchValue(value=values[0]) if len(values) == 1 else models.MatchAny(any=list(values))

    return [models.FieldCondition(key=field, match=match(values)) for field, values in fields.items()]


def _narrow_conditions(where: IndexFilter) -> list[models.Condition]:
    from qdrant_client import models

    conditions: list[models.Condition] = []
    if where.key_prefix is not None:
        begins = models.MatchPrefix(prefix=where.key_prefix)
        conditions.append(models.FieldCondition(key=KEY_FIELD, match=begins))
    for field, period in where.periods.items():
        within = models.DatetimeRange(gte=period.since, lt=period.before)
        conditions.append(models.FieldCondition(key=field, range=within))
    for tag in where.tags:
        conditions += _conditions({TAGS_FIELD: [str(tag), str(EVERY_TAG)]})
    return conditions
