"""What a service that is ready tells whoever sits at its terminal: what runs, where its data is, what to try next."""

from __future__ import annotations

import importlib.metadata
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from actors.processes.addresses import Fronts
from elf.config.dsn import Dsn
from elf.config.model import Config, Provider
from elf.config.places import masked


def show(fronts: Fronts, config: Config, *, source: str) -> None:
    """Print what runs, where its data is and what to try next."""
    console = Console()
    console.print()
    console.print(Text(f"ELF {importlib.metadata.version('elf-memory')} is ready", style="bold green"))
    console.print(Padding(_table([*fronts.rows(), *_parts(config), ("config", source)]), (0, 0, 0, 2)))
    console.print()
    if fronts.http and config.service.http_address.port:
        console.print("Try in another terminal:")
        for command in examples(source):
            console.out(f"    {command}", style="cyan", highlight=False)  # whole, so that it can be copied
    console.print("Ctrl-C stops it.")
    console.print()


def examples(source: str) -> list[str]:
    """Return commands that work as they are, from the folder that the service was started in."""
    program, config = shlex.quote(_program()), shlex.quote(_from_here(source))
    return [
        f'{program} add -c {config} "I prefer green tea to coffee."',
        f'{program} search -c {config} "What do I like to drink?"',
        f"{program} status -c {config}",
    ]


def _table(rows: Sequence[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def _parts(config: Config) -> Iterator[tuple[str, str]]:
    yield "Postgres", _postgres(config)
    yield "index", _index(config)
    yield "model", _model(config.providers.embedding, local="in this process")
    yield "extractor", _model(config.providers.llm_extractor, local="no language model")


def _postgres(config: Config) -> str:
    place = config.storage.postgres.place
    return f"embedded, in {place.folder}" if place.folder else Dsn.parse(config.storage.postgres.dsn).place


def _index(config: Config) -> str:
    place = config.storage.qdrant.place
    if place.folder:
        return f"embedded, in {place.folder}"
    return f"Qdrant at {masked(place.url)}" if place.url else "Postgres itself (pgvector)"


def _model(provider: Provider, *, local: str) -> str:
    where = local if provider.is_local else f"at {masked(provider.api_base)}"
    return f"{provider.model}, {where}"


def _program() -> str:
    """Return how the shell finds the command line of this installation: by its name, or else by its path."""
    own = Path(sys.executable).with_name("elf")
    found = shutil.which("elf")
    return "elf" if found and own.exists() and os.path.samefile(found, own) else _from_here(str(own))


def _from_here(path: str) -> str:
    below = os.path.relpath(path)
    return path if below.startswith(os.pardir) else below
