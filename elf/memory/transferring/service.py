"""Taking all of somebody along, and taking it in: each line is of a family, which alone knows what it says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from itertools import groupby
from typing import Any, Final

import msgspec

from elf.api.binding import refuse_bound_to_less
from elf.api.caller import Caller
from elf.api.operation import Events
from elf.core.errors import InvalidRequest, NonEnglishInput, ServiceError
from elf.memory.api import transferring as t
from elf.memory.erasing.own import OwnedBySomebody
from elf.memory.erasing.whose import Somebody
from elf.memory.families_on import refuse_unknown
from elf.offers import Subjects

_PLACE: Final = re.compile(r"\$\[(\d+)\]")


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A line of an export, with the names of an ExportedLine."""

    family: str
    item: Mapping[str, Any]


class Transferring:
    """Carries out `export_memory` and `import_memory`. `families` are asked in their order."""

    def __init__(self, families: Mapping[str, Subjects], owned: OwnedBySomebody) -> None:
        self._families = families
        self._owned = owned

    async def export(self, request: t.Export, caller: Caller) -> Events:
        """Yield all of somebody, family by family, in the order in which it is taken in."""
        return self._lines(Somebody.of(request, caller))

    async def take_in(self, request: t.Import, caller: Caller) -> t.Imported:
        """Keep lines; what is there stays as it is.

        Raises ScopeDenied for who is bound to less than a tenant, InvalidRequest for a family that is not on, for what
        is another tenant's, and for what is not as it is exported, and whatever else the family raises. What families
        before it have kept is kept, and known when the lines come again.
        """
        refuse_bound_to_less(caller, "$.items")
        self._refuse(request)
        new = 0
        numbered = enumerate(request.items)
        for name, group in groupby(numbered, key=lambda one: one[1].family):
            lines = list(group)
            try:
                new += await self._families[name].take_in([line.item for _, line in lines])
            except (InvalidRequest, NonEnglishInput) as error:
                raise _told(error, [place for place, _ in lines]) from error
        return t.Imported(new=new, known=len(request.items) - new)

    async def _lines(self, somebody: Somebody) -> Events:
        subject = somebody.subject(await self._owned.of(somebody))
        for name, family in self._families.items():
            async with aclosing(family.export(subject)) as items:
                async for item in items:
                    yield Line(family=name, item=item)

    def _refuse(self, request: t.Import) -> None:
        refuse_unknown([one.family for one in request.items], self._families, path="$.items[{}].family")
        others = [
            place for place, one in enumerate(request.items) if one.item.get("tenant_id") != request.tenant_id
        ]
        if others:
            raise InvalidRequest(
                "is not of the tenant that is named",
                fields=[f"$.items[{place}].item.tenant_id" for place in others],
            )


def _told(error: InvalidRequest | NonEnglishInput, places: Sequence[int]) -> ServiceError:
    """Return an error of a family with the paths that its items have in the request."""

    def here(text: str) -> str:
        return _PLACE.sub(lambda found: _path(int(found[1]), places), text)

    fields = [here(one) for one in error.fields]
    kind = NonEnglishInput if isinstance(error, NonEnglishInput) else InvalidRequest
    return kind(here(error.message), fields=fields, problems=[here(one) for one in error.problems])


def _path(place: int, places: Sequence[int]) -> str:
    return f"$.items[{places[place]}].item" if place < len(places) else "$.items"
