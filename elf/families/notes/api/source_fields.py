"""Asking for notes by fields of their source_ref: which fields can be asked for, as tags of the index and as JSON.

A path is the names from the top on, joined by dots: `app.name` is the field `name` within `app`, or a field at the
top whose own name is `app.name`. What can be asked for are strings, numbers, true, false and null, not what stands in
lists.

In the index each such field of a note is a tag, the digest of its path and value. A note with more of them than
MAX_TAGS, or with a large reference, has EVERY_TAG instead: it is a candidate of every such search, and Postgres
decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from hashlib import blake2b
from itertools import islice, pairwise, product
from typing import Any, Final, TypeAlias
from uuid import UUID

import msgspec

from elf.core.errors import InvalidRequest
from elf.core.json_strings import step
from elf.index.schema import EVERY_TAG

MAX_FIELDS: Final = 8  # of one search
MAX_TAGS: Final = 64  # of one note
MAX_PATH_CHARS: Final = 256
MAX_VALUE_CHARS: Final = 1024
# Each dot doubles what is asked of Postgres: it may part two names, or be part of one.
MAX_DOTS: Final = 6

# What `check_source` takes, but for the dots.
SOURCE_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": MAX_FIELDS,
    "propertyNames": {"minLength": 1, "maxLength": MAX_PATH_CHARS},
    "additionalProperties": {
        "anyOf": [{"type": "string", "maxLength": MAX_VALUE_CHARS}, {"type": ["number", "boolean", "null"]}]
    },
    "description": "Only notes whose source_ref has these fields with just these values. A field within another is "
    f"named by its path, as in app.name; at most {MAX_DOTS} dots in all.",
    "examples": [{"ticket": "SUP-1204"}],
}

Scalar: TypeAlias = str | int | float | bool | None


def tags_of(reference: Mapping[str, Any] | None) -> Sequence[UUID]:
    """Return the tags of a note with this reference; None is one that is too large to be looked at."""
    if reference is None:
        return [EVERY_TAG]
    tags = list(islice(dict.fromkeys(tag(path, value) for path, value in _fields(reference)), MAX_TAGS + 1))
    return tags if len(tags) <= MAX_TAGS else [EVERY_TAG]


def tag(path: str, value: Scalar) -> UUID:
    """Return what stands for a field with this value; numbers that are equal in Postgres have the same."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        # As it is written, as Postgres reads it: 1, 1.0 and 1e0 are one number, and so are 0 and -0.
        material = msgspec.json.encode([path, "number", str(Decimal(repr(value)).normalize() + 0)])
    else:
        material = msgspec.json.encode([path, value])
    return UUID(bytes=blake2b(material, digest_size=16, person=b"elf source").digest())


def _fields(reference: Mapping[str, Any]) -> Iterator[tuple[str, Scalar]]:
    """Yield the path and value of each field that a search may ask for, those nearer to the top first."""
    level: list[tuple[str, Mapping[str, Any]]] = [("", reference)]
    while level:
        deeper: list[tuple[str, Mapping[str, Any]]] = []
        for prefix, found in level:
            for name, value in found.items():
                path = prefix + name
                if len(path) > MAX_PATH_CHARS or path.count(".") > MAX_DOTS:
                    continue
                if isinstance(value, dict):
                    deeper.append((path + ".", value))
                elif not isinstance(value, list) and not (
                    isinstance(value, str) and len(value) > MAX_VALUE_CHARS
                ):
                    yield path, value
        level = deeper


def check_source(source: Mapping[str, Any], path: str) -> None:
    """Raise InvalidRequest for fields that cannot be asked for; `path` is where they stand in the request."""
    if not 1 <= len(source) <= MAX_FIELDS:
        raise InvalidRequest(
            f"{path}: should have 1 to {MAX_FIELDS} fields, not {len(source)}", fields=[path]
        )
    for name, value in source.items():
        at = path + step(name)
        if not 1 <= len(name) <= MAX_PATH_CHARS:
            raise InvalidRequest(f"{at}: a path should have 1 to {MAX_PATH_CHARS} characters", fields=[at])
        if isinstance(value, dict | list):
            raise InvalidRequest(
                f"{at}: should be a string, a number, true, false or null; name a field within by its path, as in"
                " app.name",
                fields=[at],
            )
        if isinstance(value, str) and len(value) > MAX_VALUE_CHARS:
            raise InvalidRequest(f"{at}: should have at most {MAX_VALUE_CHARS} characters", fields=[at])
    if (dots := sum(name.count(".") for name in source)) > MAX_DOTS:
        raise InvalidRequest(
            f"{path}: the paths should have at most {MAX_DOTS} dots in all, not {dots}", fields=[path]
        )


def documents(source: Mapping[str, Scalar]) -> list[dict[str, Any]]:
    """Return the objects of which a reference has to contain one (as Postgres' @> says) to have all these fields.

    There are several where a dot may part names or belong to one.
    """
    found = []
    for ways in product(*(_ways(path) for path in source)):
        document: dict[str, Any] = {}
        if all(_put(document, names, value) for names, value in zip(ways, source.values(), strict=True)):
            found.append(document)
    return found


def _ways(path: str) -> list[list[str]]:
    """Return the lists of names that are this path when they are joined by dots."""
    dots = [place for place, letter in enumerate(path) if letter == "."]
    ways = []
    for chosen in product((True, False), repeat=len(dots)):
        cuts = [-1, *(place for place, is_cut in zip(dots, chosen, strict=True) if is_cut), len(path)]
        ways.append([path[start + 1 : end] for start, end in pairwise(cuts)])
    return ways


def _put(document: dict[str, Any], names: Sequence[str], value: Scalar) -> bool:
    """Put a value where the names lead; False when another value is in the way."""
    for name in names[:-1]:
        inner = document.setdefault(name, {})
        if not isinstance(inner, dict):
            return False
        document = inner
    if names[-1] in document:
        return False
    document[names[-1]] = value
    return True
