"""[[webhooks]]: who is told when an item is written, changed, forgotten or contradicted."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Final, Literal, Self
from urllib.parse import SplitResult, urlsplit

from pydantic import Field, field_validator, model_validator

from elf.config.table import Table
from elf.config.values import Text
from elf.core.public_addresses import is_public

WebhookEvent = Literal["written", "changed", "forgotten", "contradicted"]

SECRET_PREFIX: Final = "whsec_"
SECRET_BYTES: Final = range(24, 65)
MAX_BACKLOG: Final = 10_000_000
MAX_BACKLOG_AGE_S: Final = 366 * 86_400


class Webhook(Table):
    """[[webhooks]]: a receiver, and what it is told of: by default of all families, events and tenants.

    `secret` signs what is sent: `whsec_` and 24 to 64 bytes as base64. Only addresses that the whole internet reaches
    are called, by https, unless it may `allow_private`. One call may take `timeout_ms`; an event that was not taken
    after so many `attempts` becomes a dead letter. Beyond `max_backlog` events that wait, and after
    `max_backlog_age_s`, the oldest are dropped.
    """

    name: Annotated[
        str,
        Field(pattern=r"^[a-z][a-z0-9_]{0,39}\z", description="a-z, 0-9 and _, at most 40, a letter first"),
    ]
    url: Text
    secret: Annotated[str, Field(description="whsec_ and 24 to 64 bytes as base64")]
    families: Annotated[list[Text], Field(min_length=1, description="a list of families")] | None = None
    events: (
        Annotated[
            list[WebhookEvent],
            Field(min_length=1, description="a list of written, changed, forgotten, contradicted"),
        ]
        | None
    ) = None
    tenants: Annotated[list[Text], Field(min_length=1, description="a list of tenants")] | None = None
    allow_private: bool = False
    timeout_ms: Annotated[int, Field(ge=100, le=60_000)] = 10_000
    attempts: Annotated[int, Field(ge=1, le=100)] = 24
    max_backlog: Annotated[int, Field(ge=1, le=MAX_BACKLOG)] = 100_000
    max_backlog_age_s: Annotated[int, Field(ge=60, le=MAX_BACKLOG_AGE_S)] = 7 * 86_400

    @field_validator("secret")
    @classmethod
    def _is_a_key(cls, value: str) -> str:
        key_of(value)
        return value

    @property
    def key(self) -> bytes:
        """What its secret stands for."""
        return key_of(self.secret)

    @model_validator(mode="after")
    def _may_be_called(self) -> Self:
        parts = _parts(self.url)
        if not self.allow_private:
            if parts.scheme != "https":
                raise ValueError("url must begin with https://, unless allow_private is true")
            if _is_private(parts.hostname or ""):
                raise ValueError(
                    "url must not name this machine or a private network, unless allow_private is true"
                )
        return self


def key_of(secret: str) -> bytes:
    """Return the bytes of a signing secret. Raises ValueError for one that is none, and does not show it."""
    problem = f"must be {SECRET_PREFIX} and {SECRET_BYTES[0]} to {SECRET_BYTES[-1]} bytes as base64"
    if not secret.startswith(SECRET_PREFIX):
        raise ValueError(problem)
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except binascii.Error:
        raise ValueError(problem) from None
    if len(key) not in SECRET_BYTES:
        raise ValueError(problem)
    return key


def _parts(url: str) -> SplitResult:
    problem = "url must be https:// or http://, a host, and no user, password or fragment"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises for one that is none
    except ValueError:
        raise ValueError(problem) from None
    named = parts.scheme in ("http", "https") and parts.hostname
    if (
        not named
        or "@" in parts.netloc
        or parts.fragment
        or not url.isascii()
        or not url.isprintable()
        or " " in url
    ):
        raise ValueError(problem)
    return parts


def _is_private(host: str) -> bool:
    try:
        return not is_public(host)
    except ValueError:  # a name: what it stands for is looked at when it is called
        return host == "localhost" or host.endswith(".localhost")
