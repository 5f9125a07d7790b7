"""A service with every family of memory that is proven here, those included that are no part of the product."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from elf.config import Config, load
from elf.family import Family, tables_of
from tests.families.callers import SHARED_ONLY
from tests.families.every import PROOFS
from tests.families.fronts import Fronts
from tests.families.identities import FREE, Identities
from tests.keys_kit import without_auth
from tests.system.service import RunningService, write_config

FAMILIES: Final[tuple[Family, ...]] = tuple(proof.family for proof in PROOFS)


def config_of_all(folder: Path, **changes: str) -> Path:
    """Write a config into `folder` with the tables of all families; see write_config."""
    path = write_config(folder, **changes)
    text = path.read_text(encoding="utf-8")
    text = text.replace(
        "[scopes.read_profiles]\n", f'[scopes.read_profiles]\n{SHARED_ONLY} = ["project_shared"]\n'
    )
    tables = [
        proof.config if isinstance(proof.config, str) else proof.config()
        for proof in PROOFS
        if f"\n[{proof.name}]" not in text
    ]
    path.write_text("\n".join([text, *tables]), encoding="utf-8")
    return path


def guarded_config_of_all(folder: Path, identities: Identities, **changes: str) -> Path:
    """Write a config as `config_of_all` does, of a service that asks who calls and knows these identities."""
    path = config_of_all(folder, **changes)
    path.write_text(without_auth(path.read_text()) + identities.config(folder), encoding="utf-8")
    return path


def loaded(path: Path) -> Config:
    return load(path, tables_of(FAMILIES))


def service_of_all(config: Path, *, name: str = "service") -> RunningService:
    """Return a service that is not started yet."""
    return RunningService(config, name=name, program=[__name__, config])


def fronts_of(url: str, admin_url: str, mcp_url: str, identities: Identities | None = None) -> Fronts:
    """Return the fronts of a running service with all families.

    Where callers are asked who they are, `identities` prove it, and an operator asks when nothing else is said.
    """
    paths = [family.mcp_path for family in FAMILIES if family.tools]
    headers = {} if identities is None else identities.headers(FREE, {})
    return Fronts(url, admin_url, mcp_url, paths, headers, identities)


def main(path: Path) -> int:
    from actors.system import run

    return run(loaded(path), source=str(path), families=FAMILIES)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
