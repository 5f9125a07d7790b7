"""The one place where connections to Postgres are made: the DSN says all of it, and the environment nothing.

Whatever asyncpg is not told, it looks for in PG* variables and in files of the user's home.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import asyncpg

from elf.config.dsn import SYSTEM_ROOTS, Dsn, Tls
from elf.core.errors import StartupError


async def connect(dsn: str, *, server_settings: Mapping[str, str] | None = None, **options: Any) -> Any:
    """Return a connection of asyncpg, as `asyncpg.connect` makes it; `server_settings` win over those of the DSN.

    Raises what asyncpg raises, and StartupError when a certificate that the DSN names cannot be read.
    """
    said = Dsn.parse(dsn)
    told = {**_told(said), **options, "server_settings": said.settings | dict(server_settings or {})}
    if said.tls.mode != "prefer" or _is_local(said):
        return await asyncpg.connect(**told, ssl=_context(said.tls) if _is_encrypted(said) else False)
    try:
        return await asyncpg.connect(**told, ssl=_context(said.tls))
    except asyncpg.InvalidPasswordError:
        raise
    except (ConnectionError, asyncpg.InvalidAuthorizationSpecificationError):
        # The server cannot encrypt, or lets this user in without it only.
        return await asyncpg.connect(**told, ssl=False)


def _told(dsn: Dsn) -> dict[str, Any]:
    return {
        "host": list(dsn.hosts),
        "port": list(dsn.ports),
        "user": dsn.user,
        "password": dsn.password,
        "database": dsn.database,
        "direct_tls": dsn.tls.is_direct,
        "target_session_attrs": dsn.session,
        "krbsrvname": dsn.kerberos_service,
        "gsslib": "gssapi",
    }


def _is_local(dsn: Dsn) -> bool:
    return all(host.startswith("/") for host in dsn.hosts)


def _is_encrypted(dsn: Dsn) -> bool:
    return dsn.tls.mode != "disable" and not _is_local(dsn)


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = tls.mode == "verify-full"
    # A root certificate that is named is asked for, whatever the mode says: libpq does so, too.
    context.verify_mode = ssl.CERT_REQUIRED if tls.root_cert and tls.mode != "prefer" else ssl.CERT_NONE
    try:
        _load(context, tls)
    except OSError as error:  # an SSLError is one, too
        raise StartupError(
            f"a certificate that the DSN names cannot be used: {error.strerror or error}"
        ) from error
    return context


def _load(context: ssl.SSLContext, tls: Tls) -> None:
    if tls.root_cert == SYSTEM_ROOTS:
        system = ssl.get_default_verify_paths()  # those of OpenSSL itself: variables may name others
        file = system.openssl_cafile if Path(system.openssl_cafile).is_file() else None
        context.load_verify_locations(file, system.openssl_capath)
    elif tls.root_cert:
        context.load_verify_locations(tls.root_cert)
    if tls.crl:
        context.load_verify_locations(tls.crl)
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
    if tls.cert:
        context.load_cert_chain(tls.cert, tls.key or None, password=lambda: tls.key_password)
