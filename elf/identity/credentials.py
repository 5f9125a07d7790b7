"""What a request brings along to say who makes it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from werkzeug.datastructures import Headers

from elf.config.names import MAX_NAME_CHARS
from elf.identity.refusal import Refused

MAX_CHARS: Final = 16 * 1024

_TEXT = re.compile(r"[!-~]([ -~]*[!-~])?")
_BEARER = re.compile(r"bearer +([!-~]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class Credentials:
    """A bearer token, the key of a client, and the names of a user and of a client; each None when it is not sent."""

    bearer: str | None
    key: str | None
    user: str | None
    client: str | None

    @classmethod
    def of(cls, headers: Headers) -> Credentials:
        """Read them from the headers of a request.

        Raises Refused for a header that comes twice, is empty or too long, or is no printable ASCII, and for an
        authorization of another kind: what is wrong is never taken as if it were not there.
        """
        authorization = _only(headers, "Authorization", MAX_CHARS)
        return cls(
            bearer=None if authorization is None else _token(authorization),
            key=_only(headers, "X-API-Key", MAX_CHARS),
            user=_only(headers, "X-User-ID", MAX_NAME_CHARS),
            client=_only(headers, "X-Client-ID", MAX_NAME_CHARS),
        )


def _only(headers: Headers, name: str, most: int) -> str | None:
    values = headers.getlist(name)
    if not values:
        return None
    if len(values) > 1:
        raise Refused("bad_header", f"the header {name} comes more than once")
    if len(values[0]) > most:
        raise Refused("bad_header", f"the header {name} has more than {most} characters")
    if not _TEXT.fullmatch(values[0]):
        raise Refused("bad_header", f"the header {name} must be of one or more printable ASCII characters")
    return values[0]


def _token(authorization: str) -> str:
    if not (found := _BEARER.fullmatch(authorization)):
        raise Refused("bad_header", "the header Authorization must be Bearer and a token")
    return found[1]
