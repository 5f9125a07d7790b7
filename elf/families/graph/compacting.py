"""Rewriting the files of memories that are on this host, so that nothing of what was erased is in them any more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anyio import to_thread

from elf.config.model import Config
from elf.config.tables.graph import GraphTable
from elf.core.errors import StartupError, Unavailable
from elf.db.queries import Queries, sql_folder
from elf.families.graph.homes import home_name
from elf.families.graph.model import FAMILY
from elf.families.graph.store.connections import connect, failures
from elf.families.graph.store.layout import Layout, there


async def compact(config: Config, connection: Any) -> int:
    """Rewrite the memories that a database says to be at this host; returns how many there are.

    Their log files are removed: they name what was done. Raises StartupError for one that cannot be rewritten.
    """
    root = Path(config.of(GraphTable).root)
    queries = Queries.load(sql_folder() / FAMILY)
    home = await to_thread.run_sync(home_name, root)
    rows = await connection.fetch(queries["folders_at"], home)
    return sum([await to_thread.run_sync(_rewrite, Path(row["folder"])) for row in rows])


def _rewrite(runtime_root: Path) -> bool:
    layout = there(runtime_root)
    if layout is None or not layout.database.exists():
        return False
    try:
        _vacuum(layout)
        for path in (layout.log_file, layout.log_file.with_name(f"{layout.log_file.name}.1")):
            path.unlink(missing_ok=True)
    except (Unavailable, OSError) as error:
        raise StartupError(f"the memory of {layout.whose} cannot be compacted: {error}") from error
    return True


def _vacuum(layout: Layout) -> None:
    connection = connect(layout.database, writes=True)
    try:
        with failures(layout.database):
            connection.execute("VACUUM")
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").get
    finally:
        connection.close()
    if busy:
        raise Unavailable("somebody else has it open: stop the service first")
