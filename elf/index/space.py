"""An index space: the part of the vector index that is one memory family's own.

Spaces share an engine and nothing else: a collection each on a Qdrant server, a shard each in the one index process, a
set of tables each in Postgres. So the words of one family never move the scores of another, and to rebuild or to empty
one leaves the others as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_NAME = re.compile(r"[a-z][a-z0-9_]{0,23}")


class Space(msgspec.Struct, frozen=True, kw_only=True):
    """What a family's points look like to the engines.

    `name` is lower_snake_case, at most 24 characters. `owner_field` is where an engine keeps the id of a point's owner.
    Filters may name `keyword_fields`, whose values are strings. `average_length` is how many words a document is
    expected to have once stop words are gone.

    `place_fields` begin with the tenant: points that differ in these never meet in a search, and engines lay them out
    apart. `reader_fields` say what a reader may see, and so among which points the rarity of a word is counted; any
    other field only says what is looked for. `combined_fields` are sets of fields, the largest first, that most filters
    fix all of: the embedded engine looks such a set up at once.

    `is_plain` leaves the name out of what the engines call the space's collection, tables and folder: one space of an
    index may do so, which is the one that was there before there were others.
    """

    name: str
    owner_field: str
    keyword_fields: tuple[str, ...]
    average_length: float
    place_fields: tuple[str, ...] = ()
    reader_fields: tuple[str, ...] = ()
    combined_fields: tuple[tuple[str, ...], ...] = ()
    is_plain: bool = False

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(f"{self.name!r} cannot name an index space: use lower_snake_case")
        named = {*self.place_fields, *self.reader_fields, *(f for one in self.combined_fields for f in one)}
        if strangers := sorted(named - set(self.keyword_fields)):
            raise ValueError(f"{', '.join(strangers)} must be keyword_fields of the index space {self.name}")

    @property
    def suffix(self) -> str:
        """What tells its collection and tables from those of other spaces."""
        return "" if self.is_plain else f"_{self.name}"


def refuse_doubles(spaces: Sequence[Space]) -> None:
    """Raise ValueError when two spaces of one index would share what they keep."""
    suffixes = [space.suffix for space in spaces]
    if doubled := sorted({one.name for one in spaces if suffixes.count(one.suffix) > 1}):
        raise ValueError(f"two index spaces would share their points: {', '.join(doubled)}")
