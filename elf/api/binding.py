"""What a request says of its context, held against what binds its caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied


def bound_values(model: type[BaseModel], values: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """Return the values of a request, by the fields of `model`, with what binds its caller filled in.

    A field that is left out or null is filled in, and the value that binds may be repeated. Raises ScopeDenied, naming
    the fields, for another value and for fields that this caller may not use, InvalidRequest for a needed one that is
    missing.
    """
    bound = {name: value for name, value in caller.bound.items() if name in model.model_fields}
    _refuse_denied(model, caller)
    _refuse_other(bound, values)
    filled = {**values, **bound}
    missing = [
        f"$.{name}" for name in sorted(caller.needed & model.model_fields.keys()) if filled.get(name) is None
    ]
    if missing:
        raise InvalidRequest(f"{', '.join(missing)}: is missing", fields=missing)
    return filled


def refuse_bound_to_less(caller: Caller, path: str) -> None:
    """Raise ScopeDenied for who is bound to less than a tenant: what is at `path` may be anybody's of it."""
    if caller.bound.keys() - {"tenant_id"}:
        raise ScopeDenied(f"{path}: who calls is bound to less than a tenant", fields=[path])


def _refuse_denied(model: type[BaseModel], caller: Caller) -> None:
    denied = {f"$.{name}": why for name, why in caller.denied.items() if name in model.model_fields}
    if denied:
        raise ScopeDenied("; ".join(f"{path}: {why}" for path, why in denied.items()), fields=list(denied))


def _refuse_other(bound: Mapping[str, str], values: Mapping[str, Any]) -> None:
    paths = [f"$.{name}" for name, value in bound.items() if values.get(name) not in (None, value)]
    if paths:
        raise ScopeDenied(
            f"{', '.join(paths)}: who calls is bound to another value; leave it out", fields=paths
        )
