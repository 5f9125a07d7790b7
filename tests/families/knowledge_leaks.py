"""Slips of the pen in the statements of knowledge that the isolation table has to find."""

from __future__ import annotations

from typing import Final

from tests.families.leaks import BY_TENANT, Leak, Leaks

_BY_WORKER: Final = "work in the background is for a tenant that it was given"
_AFTER: Final = "it follows a statement of the same transaction that asks for the tenant and finds nothing"
_OPERATORS: Final = "operators ask for it, of all tenants or one"
_COUNTS: Final = "it tells counts alone, and no row of another tenant"


def _reading(query: str, *operations: str) -> Leak:
    return Leak(name=query, query=query, conditions=(BY_TENANT,), operations=operations)


LEAKS: Final = Leaks(reading=[], changing=[], behind_others={})
