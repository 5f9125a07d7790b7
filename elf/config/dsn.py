"""What a postgresql:// DSN says, whole: nothing in it is left to the environment or to files of the user's home.

    postgresql://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=verify-full&sslrootcert=/etc/elf/root.crt

Several hosts are separated by commas, and without a port each is at 5432. A host that begins with / is the folder of a
Unix socket. Options that are none of the connection's are settings of the session, such as `application_name`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import parse_qsl, unquote, urlsplit

PORT: Final = 5432
SYSTEM_ROOTS: Final = "system"
TLS_MODES: Final = ("disable", "prefer", "require", "verify-ca", "verify-full")
SESSIONS: Final = ("any", "primary", "standby", "prefer-standby", "read-write", "read-only")
# What libpq and the driver would follow to other files, or what the driver does not know.
_ELSEWHERE: Final = ("service", "servicefile", "passfile")
_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_FORM: Final = "must be embedded:FOLDER or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f]")
_PORT = re.compile(r"[0-9]{1,5}")
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]]*))(?::(?P<port>[^:]*))?")


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is encrypted, as libpq's options of the same names say; files are absolute paths or empty.

    `prefer`, which holds when nothing is said, encrypts when the server can and checks nothing; `require` always
    encrypts, and `verify-ca` and `verify-full` check the server's certificate against `root_cert` (SYSTEM_ROOTS for
    those of the system), the latter its name, too.
    """

    mode: str = "prefer"
    root_cert: str = ""
    cert: str = ""
    key: str = ""
    key_password: str = field(default="", repr=False)
    crl: str = ""
    is_direct: bool = False


@dataclass(frozen=True, slots=True)
class Dsn:
    """Who connects to what. `password` is empty when none is said, and then none is sent."""

    hosts: tuple[str, ...]
    ports: tuple[int, ...]
    user: str
    password: str = field(repr=False)
    database: str
    tls: Tls
    session: str
    kerberos_service: str
    settings: dict[str, str]

    @property
    def place(self) -> str:
        """Where the database is, for people: `HOST:PORT`; of several hosts all, of a Unix socket its folder."""
        hosts = (
            host if host.startswith("/") else f"{host}:{port}"
            for host, port in zip(self.hosts, self.ports, strict=True)
        )
        return ",".join(hosts)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a DSN. Raises ValueError with what is allowed, and without anything of the DSN itself."""
        if not text.startswith(("postgresql://", "postgres://")) or _UNPRINTABLE.search(text):
            raise ValueError(_FORM)
        try:
            parts = urlsplit(text)
            options = dict(parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)))
        except ValueError:
            raise ValueError(_FORM) from None
        login, _, place = parts.netloc.rpartition("@")
        name, _, password = login.partition(":")
        user = options.pop("user", "")
        secret = options.pop("password", "")
        databases = (
            unquote(parts.path.removeprefix("/")),
            options.pop("dbname", ""),
            options.pop("database", ""),
        )
        hosts, ports = _places(place, options.pop("host", ""), options.pop("port", ""))
        found = cls(
            hosts=hosts,
            ports=ports,
            user=unquote(name) or user,
            password=unquote(password) or secret,
            database=next(filter(None, databases), ""),
            tls=_tls(options),
            session=_one_of("target_session_attrs", options, SESSIONS),
            kerberos_service=options.pop("krbsrvname", "") or "postgres",
            settings=_settings(options),
        )
        if not found.user or not found.database or not all(found.hosts):
            raise ValueError(_FORM)
        return found


def _places(netloc: str, hosts: str, ports: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Return the hosts and as many ports, from `host1:port1,host2` or, if that is empty, from the two options."""
    matches = [_HOST.fullmatch(place) for place in (netloc or hosts).split(",")]
    if None in matches:
        raise ValueError(_FORM)
    found = [(match["v6"] or unquote(match["host"] or ""), match["port"] or "") for match in matches if match]
    said = ports.split(",") if ports else [""]
    if len(said) == 1:
        said = said * len(found)
    if len(said) != len(found):
        raise ValueError("must name one port for all hosts, or one for each")
    names = tuple(name for name, _ in found)
    return names, tuple(_port(own or other) for (_, own), other in zip(found, said, strict=True))


def _port(text: str) -> int:
    if not text:
        return PORT
    if not _PORT.fullmatch(text) or not 1 <= int(text) <= 65_535:
        raise ValueError("must name ports of 1 to 65535")
    return int(text)


def _tls(options: dict[str, str]) -> Tls:
    files = {name: options.pop(name, "") for name in _FILES}
    for name, file in files.items():
        if file and not file.startswith("/") and not (name == "sslrootcert" and file == SYSTEM_ROOTS):
            raise ValueError(f"must name an absolute path in {name}")
    mode = _one_of("sslmode", options, TLS_MODES, otherwise="prefer")
    if mode.startswith("verify") and not files["sslrootcert"]:
        raise ValueError(
            f"must name in sslrootcert whom sslmode={mode} trusts: a file, or {SYSTEM_ROOTS} for the system's own"
        )
    negotiation = _one_of("sslnegotiation", options, ("postgres", "direct"))
    if negotiation == "direct" and mode in ("disable", "prefer"):
        raise ValueError("must have sslmode=require or a stricter one with sslnegotiation=direct")
    return Tls(
        mode=mode,
        root_cert=files["sslrootcert"],
        cert=files["sslcert"],
        key=files["sslkey"],
        key_password=options.pop("sslpassword", ""),
        crl=files["sslcrl"],
        is_direct=negotiation == "direct",
    )


def _one_of(name: str, options: dict[str, str], allowed: tuple[str, ...], *, otherwise: str = "") -> str:
    value = options.pop(name, "") or otherwise or allowed[0]
    if value not in allowed:
        raise ValueError(f"must have one of {', '.join(allowed)} as {name}")
    return value


def _settings(options: dict[str, str]) -> dict[str, str]:
    if others := [name for name in _ELSEWHERE if name in options]:
        raise ValueError(f"must say everything itself: {others[0]} would have it read from elsewhere")
    return options
