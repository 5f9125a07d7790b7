"""Where things live: bind addresses, the Postgres DSN and the index URL with their schemes."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple


class Address(NamedTuple):
    """A host and a TCP port; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Split "host:port" or "[ipv6]:port". Raises ValueError with what is allowed."""
    host, separator, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not separator or not host or not port.isascii() or not port.isdecimal() or int(port) > 65_535:
        raise ValueError("must be host:port with a port of 0 to 65535, such as 127.0.0.1:8765")
    return Address(host, int(port))


def is_loopback(address: Address) -> bool:
    """Tell whether only this machine can reach the address."""
    if address.host == "localhost":
        return True
    try:
        return ipaddress.ip_address(address.host).is_loopback
    except ValueError:
        return False  # a host name other than localhost may resolve to anything


@dataclass(frozen=True, slots=True)
class PostgresPlace:
    """A server by its DSN, or the embedded server with its data in `folder`."""

    kind: Literal["embedded", "server"]
    folder: Path | None
    dsn: str | None

    @classmethod
    def parse(cls, text: str) -> PostgresPlace:
        """Read `embedded:PATH` or a `postgresql://` DSN. Raises ValueError with what is allowed."""
        if text.startswith("embedded:") and text.removeprefix("embedded:").strip():
            return cls("embedded", Path(text.removeprefix("embedded:").strip()), None)
        if text.startswith(("postgresql://", "postgres://")):
            return cls("server", None, text)
        raise ValueError("must be embedded:PATH or begin with postgresql://")


@dataclass(frozen=True, slots=True)
class IndexPlace:
    """Qdrant Edge with its data in `folder`, a Qdrant server at `url`, or pgvector alone."""

    kind: Literal["edge", "server", "pgvector"]
    folder: Path | None
    url: str | None

    @classmethod
    def parse(cls, text: str) -> IndexPlace:
        """Read `edge:PATH`, an http(s) URL or `pgvector:`. Raises ValueError with what is allowed."""
        if text.startswith("edge:") and text.removeprefix("edge:").strip():
            return cls("edge", Path(text.removeprefix("edge:").strip()), None)
        if text.startswith(("http://", "https://")):
            return cls("server", None, text)
        if text == "pgvector:":
            return cls("pgvector", None, None)
        raise ValueError("must be edge:PATH, pgvector: or begin with http:// or https://")
