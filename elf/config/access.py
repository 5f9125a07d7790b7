"""[service.access]: under which names the fronts are served, and so whom they serve."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from elf.config.places import Address, is_loopback
from elf.config.table import Table

HostName = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}[A-Za-z0-9_])?\z",
        description="a host name without a scheme and a port, such as elf.example.com",
    ),
]


class Access(Table):
    """[service.access], optional: names that requests may ask for, beside addresses and names of this machine itself.

    Without the table, fronts that only this machine reaches serve under its own names, others under every name; without
    `allowed_hosts` in it, all serve under this machine's own.
    """

    allowed_hosts: Annotated[list[HostName], Field(description="a list of host names, such as []")] = Field(
        default_factory=list
    )


class Refusal(NamedTuple):
    """Why a request is not served: by the host it asks for, or by the site whose page sends it."""

    cause: Literal["host", "origin"]
    message: str


_HOST: Final = re.compile(
    r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::(?P<port>[0-9]{0,5}))?", re.ASCII
)
_TWO_HOSTS: Final = Refusal("host", "a request must name one host, and the same one wherever it names it")
_NO_HOST: Final = Refusal("host", "Host: must be a name or an address, with or without a port")
_NOT_LOCAL: Final = Refusal("host", "this address serves this machine only, under a name such as localhost")
_NOT_LISTED: Final = Refusal(
    "host", "nothing is served under this host name; service.access.allowed_hosts lists names"
)
_FOREIGN: Final = Refusal("origin", "requests from the pages of other web sites are refused")


class Visitors:
    """Whom a front serves, whoever calls: any page open in the browser of somebody near it could write, too.

    Browsers say which site a page is from, and those of other sites are refused. A page whose name was made to lead
    here says that it is from here, and asks for a foreign name, never for an address: so an address may be asked for
    always, and a name when it is one of this machine or among `allowed_hosts`. When that is None, every name may,
    unless the front is `local_only`: then this machine's own, by name or address.
    """

    def __init__(self, *, local_only: bool, allowed_hosts: Collection[str] | None = None) -> None:
        self.serves_every_name = allowed_hosts is None and not local_only
        self._local_only = local_only
        self._allowed = frozenset(name.lower() for name in allowed_hosts or ())

    def refusal(self, scope: Mapping[str, Any]) -> Refusal | None:
        """Return why a request is refused, by its ASGI scope; None when it is not."""
        hosts = _named(scope, b"host")
        origins = _named(scope, b"origin")
        host = hosts[0].lower() if hosts else ""
        if len(hosts) > 1 or _authority(scope).lower() not in ("", host):
            return _TWO_HOSTS
        if host and _name(host) is None:
            return _NO_HOST
        if not self._serves(_name(host) or ""):
            return _NOT_LOCAL if self._local_only and not self._allowed else _NOT_LISTED
        if len(origins) > 1 or not all(_is_own(one.lower(), host) for one in origins):
            return _FOREIGN
        return None

    def _serves(self, name: str) -> bool:
        if self.serves_every_name or _leads_here(name) or name.rstrip(".") in self._allowed:
            return True
        return not self._local_only and _is_address(name)


def _named(scope: Mapping[str, Any], header: bytes) -> list[str]:
    return [
        value.decode("latin-1").strip(" \t") for name, value in scope["headers"] if name.lower() == header
    ]


def _authority(scope: Mapping[str, Any]) -> str:
    """The host that the request line itself names: in HTTP/1.1 it may be a whole URL (RFC 9112, section 3.2.2)."""
    target = scope.get("raw_path", b"").decode("latin-1")
    return "" if target.startswith("/") else target.partition("://")[2].partition("/")[0]


def _is_own(origin: str, host: str) -> bool:
    """Tell whether the page that sends a request is of this machine, or of the host that it asks for."""
    site = origin.partition("://")[2]
    name = _name(site)
    return name is not None and (site == host or _leads_here(name))


def _name(host: str) -> str | None:
    """Return the name or the address in a host with or without a port; None where it is none.

    Nothing is searched for in it: what one reader takes for the end of a host, such as a #, may be a part of it to
    the client, whose name then leads wherever its owner likes.
    """
    found = _HOST.fullmatch(host)
    if found is None or int(found["port"] or 0) > 65_535:
        return None
    if found["address"] is not None and not _is_address(found["address"]):
        return None
    return found["address"] or found["name"]


def _leads_here(name: str) -> bool:
    return is_loopback(Address(name, 0))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


EVERYBODY: Final = Visitors(local_only=False)
