"""An HTTP endpoint as data: what a family offers, without a web framework.

The web front turns endpoints into routes; tools and documents are generated from the same objects.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One operation. A POST fills `request` from its JSON body and the path, a GET from the query string and the path.

    `path` may hold parameters in braces, such as `/v1/memory/notes/{note_id}`; each is a field of `request`.
    """

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    request: type[BaseModel]
    response: type[BaseModel]
    handle: Callable[[Any], Awaitable[BaseModel]]
