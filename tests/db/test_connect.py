"""Connections say all that the driver asks for: variables and files of the user's home change nothing."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio
import asyncpg
import pytest

from actors.families import steps_on
from elf.config.dsn import Dsn
from elf.core.errors import StartupError
from elf.db import migration
from elf.db.connect import connect
from elf.db.database import Database
from tests.folders import fresh_folder
from tests.hostile_environment import hostile_variables

pytestmark = pytest.mark.anyio

SSL_REQUEST: Final = bytes.fromhex("0000000804d2162f")
NOT_SO: Final = b"E\0\0\0\x1bSFATAL\0C28000\0Mnot so\0\0"


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Every variable that the driver knows leads elsewhere, and so does the user's home."""
    for name, value in hostile_variables(tmp_path).items():
        monkeypatch.setenv(name, value)


async def test_the_schema_and_a_pool_connect_whatever_the_environment_says(
    empty_dsn: str, hostile: None
) -> None:
    assert "&port=5432" in empty_dsn
    dsn = empty_dsn.replace("&port=5432", "")  # which is what it means to say nothing
    await migration.apply(dsn, steps_on(), vector_dim=4)
    database = Database(max_conns=2)
    await database.open(dsn)
    try:
        async with database.connection() as connection:
            assert await connection.fetchval("SHOW statement_timeout") == "0"
            assert await connection.fetchval("SELECT current_user") == "elf"
    finally:
        await database.close()


# TLS: a relay in front of the server encrypts, because the server itself cannot


@pytest.fixture(scope="module")
def certificate() -> Iterator[Path]:
    """A folder with a certificate for localhost, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate with")
    with fresh_folder() as folder:
        command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -keyout key -out crt -subj /CN=localhost"
        names = ["-addext", "subjectAltName=DNS:localhost"]
        subprocess.run([*command.split(), *names], cwd=folder, check=True, capture_output=True)
        yield folder


class Relay:
    """Lets a client reach the server over TCP, with TLS if it has a context.

    `sessions` says of each that got through whether it was encrypted. With `plain_only`, those that encrypt are told
    that they may not come in so.
    """

    def __init__(self, socket_file: str, context: ssl.SSLContext | None) -> None:
        self._socket_file = socket_file
        self._context = context
        self.plain_only = False
        self.sessions: list[bool] = []
        self.port = 0

    async def serve(self, *, task_status: Any) -> None:
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            task_status.started()
            await server.serve_forever()

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            begin = await reader.readexactly(8)
            is_encrypted = begin == SSL_REQUEST and self._context is not None
            if begin == SSL_REQUEST:
                writer.write(b"S" if is_encrypted else b"N")
                if self._context is not None:
                    await writer.start_tls(self._context)
                begin = await reader.readexactly(8)
            if is_encrypted and self.plain_only:
                writer.write(NOT_SO)
            else:
                self.sessions.append(is_encrypted)
                await self._pass_on(begin, reader, writer)
        writer.close()

    async def _pass_on(
        self, begin: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        from_server, to_server = await asyncio.open_unix_connection(self._socket_file)
        to_server.write(begin)
        await asyncio.gather(_copy(reader, to_server), _copy(from_server, writer))


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65_536):
        target.write(data)
    target.close()


@pytest.fixture
async def relays(postgres_dsn: str, certificate: Path, hostile: None) -> AsyncIterator[tuple[Relay, Relay]]:
    """Two ways to the server: one that encrypts, and one that cannot."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "crt", certificate / "key")
    socket_file = f"{Dsn.parse(postgres_dsn).hosts[0]}/.s.PGSQL.5432"
    both = Relay(socket_file, context), Relay(socket_file, None)
    async with anyio.create_task_group() as group:
        for relay in both:
            await group.start(relay.serve)
        yield both
        group.cancel_scope.cancel()


async def come_in(relay: Relay, *options: str, host: str = "localhost") -> bool:
    """Connect, ask something, and return whether that was encrypted."""
    connection = await connect(f"postgresql://elf@{host}:{relay.port}/postgres?{'&'.join(options)}")
    try:
        assert await connection.fetchval("SELECT 1") == 1
    finally:
        await connection.close()
    return relay.sessions[-1]


async def test_a_server_that_cannot_encrypt_is_spoken_to_plainly_unless_the_dsn_forbids_it(
    relays: tuple[Relay, Relay],
) -> None:
    _, plain = relays
    assert not await come_in(plain)
    assert not await come_in(plain, "sslmode=disable")
    with pytest.raises(ConnectionError, match="rejected SSL upgrade"):
        await come_in(plain, "sslmode=require")


async def test_a_server_that_encrypts_is_believed_as_far_as_the_dsn_says(
    relays: tuple[Relay, Relay], certificate: Path
) -> None:
    encrypting, _ = relays
    assert await come_in(encrypting)
    assert await come_in(encrypting, "sslmode=require")
    assert not await come_in(encrypting, "sslmode=disable")
    root = f"sslrootcert={certificate}/crt"
    for mode in ("require", "verify-ca", "verify-full"):
        assert await come_in(encrypting, f"sslmode={mode}", root)
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            await come_in(encrypting, f"sslmode={mode}", "sslrootcert=system")
    assert await come_in(encrypting, "sslmode=verify-ca", root, host="127.0.0.1")
    with pytest.raises(OSError, match="IP address mismatch"):
        await come_in(encrypting, "sslmode=verify-full", root, host="127.0.0.1")


async def test_a_certificate_that_cannot_be_read_is_no_outage(
    relays: tuple[Relay, Relay], tmp_path: Path
) -> None:
    (tmp_path / "broken").write_text("no certificate")
    for name in ("broken", "missing"):
        with pytest.raises(StartupError, match="a certificate that the DSN names cannot be used"):
            await come_in(relays[0], "sslmode=require", f"sslrootcert={tmp_path}/{name}")


async def test_a_server_that_lets_nobody_in_who_encrypts_is_spoken_to_plainly_when_the_dsn_says_nothing(
    relays: tuple[Relay, Relay],
) -> None:
    encrypting, _ = relays
    encrypting.plain_only = True
    assert not await come_in(encrypting)
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        await come_in(encrypting, "sslmode=require")
