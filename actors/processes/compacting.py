"""Rewriting all that a service keeps while it is stopped, so that no byte of what was deleted is left on this host."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

import anyio

from actors.families import FAMILIES
from elf.config.model import Config
from elf.core.errors import ServiceError, StartupError
from elf.db.compacting import rewrite
from elf.db.connect import connect
from elf.db.embedded import EmbeddedServer
from elf.family import Family, families_on
from elf.index.edge.folder import FolderInUse, FolderUnusable, IndexFolder

Say = Callable[[str], None]


def run(config: Config, say: Say, families: Sequence[Family] = FAMILIES) -> None:
    """Compact everything, and say what was done. Raises StartupError while the service runs, and when it fails."""
    with ExitStack() as stack:
        _empty_index(config, stack, say)
        anyio.run(_compact, config, families_on(families, config), say)


def _empty_index(config: Config, stack: ExitStack, say: Say) -> None:
    """Delete the files of the embedded index, and keep others out until all is done; it is made anew from Postgres."""
    place = config.storage.qdrant.place
    if place.kind == "server":
        say(
            "the Qdrant server keeps bytes of deleted points until it optimises its segments: that is out of reach"
        )
    if place.folder is None or not place.folder.exists():
        return
    folder = IndexFolder(place.folder)
    try:
        stack.enter_context(folder.owned())
        for path in sorted(folder.root.iterdir()):
            if path.name != "lock":
                shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except (FolderInUse, FolderUnusable) as error:
        raise StartupError(f"{error}: stop the service first") from error
    except OSError as error:
        raise StartupError(f"the index in {folder.root} cannot be emptied: {error.strerror}") from error
    say(f"the index in {folder.root} was emptied: the next start makes it anew")


async def _compact(config: Config, families: Sequence[Family], say: Say) -> None:
    place = config.storage.postgres.place
    async with _postgres(config) as dsn:
        try:
            await _files(config, families, dsn, say)
        except ServiceError as error:
            raise StartupError(error.message) from error
        await rewrite(dsn, owns_the_server=place.folder is not None)
    say("Postgres was rewritten")
    if place.folder is None:
        say("its log is its server's, and out of reach, as are replicas and backups")
    else:
        _empty_logs(place.folder)


async def _files(config: Config, families: Sequence[Family], dsn: str, say: Say) -> None:
    connection = await connect(dsn)
    try:
        for family in families:
            if family.compact is not None:
                say(f"{family.name}: {await family.compact(config, connection)} files were rewritten")
    finally:
        await connection.close()


@asynccontextmanager
async def _postgres(config: Config) -> AsyncIterator[str]:
    """Return the DSN of the database; the embedded server is started for the block."""
    place = config.storage.postgres.place
    if place.folder is None:
        assert place.dsn is not None, "it is a server, or a folder"
        yield place.dsn
        return
    if not place.folder.exists():
        raise StartupError(f"there is no Postgres in {place.folder}")
    server = EmbeddedServer(place.folder)
    try:
        yield await server.start()
    finally:
        await server.leave()


def _empty_logs(folder: Path) -> None:
    for path in (folder / "postgres.log", folder / "postgres.log.1"):
        if path.exists():
            path.write_bytes(b"")
