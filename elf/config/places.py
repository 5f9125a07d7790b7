"""Where things live: bind addresses, the Postgres DSN and the index URL with their schemes."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from elf.config.dsn import Dsn

EMBEDDED = "embedded:"
EDGE = "edge:"
PGVECTOR = "pgvector:"
LOCAL = "local:"

_HOST_NAME = re.compile(r"[A-Za-z0-9._-]+")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_PASSWORD_IN_NETLOC = re.compile(r"(//[^/@\s]*?:)[^/\s]*(?=@)")
_PASSWORD_IN_QUERY = re.compile(r"(?i)(\b(?:password|passwd|api[-_]?key|token|secret)=)[^&\s]*")


class Address(NamedTuple):
    """A host and a TCP port; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Split "host:port" or "[ipv6]:port". Raises ValueError with what is allowed."""
    host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]") and _is_ipv6(host[1:-1]):
        host = host[1:-1]
    elif not _HOST_NAME.fullmatch(host):
        host = ""
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or int(port) > 65_535:
        raise ValueError("must be host:port with a port of 0 to 65535, such as 127.0.0.1:8765 or [::1]:8765")
    return Address(host, int(port))


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def reachable_from_here(address: Address) -> Address:
    """Return where a process of this machine reaches what listens at an address: everywhere includes here."""
    here = {"0.0.0.0": "127.0.0.1", "::": "::1"}
    return address._replace(host=here.get(address.host, address.host))


def is_loopback(address: Address) -> bool:
    """Tell whether only this machine can reach the address."""
    if address.host == "localhost":
        return True
    try:
        parsed = ipaddress.ip_address(address.host)
        mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
        return (mapped or parsed).is_loopback  # Python before 3.13 does not look at what is mapped
    except ValueError:
        return False  # a host name other than localhost may resolve to anything


def masked(text: str) -> str:
    """Replace the passwords and keys inside a DSN or URL by ***, for messages and reprs."""
    return _PASSWORD_IN_QUERY.sub(r"\1***", _PASSWORD_IN_NETLOC.sub(r"\1***", text))


def check_url(text: str) -> str:
    """Return an http(s) URL as it came. Raises ValueError with what is allowed."""
    problem = ValueError("must begin with http:// or https:// and name a host")
    if not text.startswith(("http://", "https://")) or _UNPRINTABLE.search(text) or " " in text:
        raise problem
    try:
        parts = urlsplit(text)
        _ = parts.port  # reading it is what checks it
    except ValueError:
        raise problem from None
    if not parts.hostname:
        raise problem
    return text


def parse_folder(text: str) -> Path:
    """Read a folder. Raises ValueError with what is allowed; `~` is refused, for nothing would expand it."""
    text = text.strip()
    if not text or _UNPRINTABLE.search(text) or text.startswith("~"):
        raise ValueError("must name a folder, absolute or relative to the config file; ~ is not expanded")
    return Path(text)


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """A server by its DSN, or the embedded server with its data in `folder`."""

    kind: Literal["embedded", "server"]
    folder: Path | None
    dsn: str | None = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> PostgresPlace:
        """Read `embedded:FOLDER` or a `postgresql://` DSN. Raises ValueError with what is allowed."""
        if text.startswith(EMBEDDED):
            return cls("embedded", parse_folder(text.removeprefix(EMBEDDED)), None)
        Dsn.parse(text)
        return cls("server", None, text)


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """Qdrant Edge with its data in `folder`, a Qdrant server at `url`, or pgvector alone."""

    kind: Literal["edge", "server", "pgvector"]
    folder: Path | None
    url: str | None = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> IndexPlace:
        """Read `edge:FOLDER`, an http(s) URL or `pgvector:`. Raises ValueError with what is allowed."""
        if text.startswith(EDGE):
            return cls("edge", parse_folder(text.removeprefix(EDGE)), None)
        if text == PGVECTOR:
            return cls("pgvector", None, None)
        if text.startswith(("http://", "https://")):
            return cls("server", None, check_url(text))
        raise ValueError("must be edge:FOLDER, pgvector: or a URL that begins with http:// or https://")
