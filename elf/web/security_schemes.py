"""How callers prove who they are, as the OpenAPI document of a front says it that asks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from elf.api.operation import Operation
from elf.core.errors import ScopeDenied, ServiceError, Unauthorized

ABOUT_CALLERS: Final = """\
Every request says who makes it: with the key of a program in X-API-Key, with the token of a user in Authorization, or \
with both. What a key or a token is bound to, such as a tenant, is filled in where a request leaves it out; any other \
value is refused with SCOPE_DENIED."""

SCHEMES: Final[Mapping[str, Any]] = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "The token of a user, from the issuer that the service trusts.",
    },
    "key": {
        "type": "apiKey",
        "in": "header",
        "name": "X-API-Key",
        "description": "The key of a program, which its operator made.",
    },
}
REFUSALS: Final[Mapping[type[ServiceError], str]] = {
    Unauthorized: "The request has no key and no token, or one that is wrong.",
    ScopeDenied: "The scope does not exist or may not be used for this; or the caller is bound to another value of a "
    "field, or may not use it.",
}


def asked_who(operation: Operation) -> Operation:
    """Return an operation with the errors that its callers may meet."""
    if operation.is_open:
        return operation
    return replace(operation, errors=(*operation.errors, *REFUSALS))


def with_schemes(document: Mapping[str, Any], open_paths: Sequence[str]) -> dict[str, Any]:
    """Return a document that says how callers prove who they are: with either scheme or both, but for `open_paths`."""
    info = {**document["info"], "description": f"{document['info']['description']}\n\n{ABOUT_CALLERS}"}
    either: list[dict[str, list[str]]] = [{name: []} for name in SCHEMES]
    asks_nobody = {path: {"get": {**document["paths"][path]["get"], "security": []}} for path in open_paths}
    return {
        **document,
        "info": info,
        "security": [*either, {name: [] for name in SCHEMES}],
        "paths": {**document["paths"], **asks_nobody},
        "components": {**document["components"], "securitySchemes": SCHEMES},
    }
