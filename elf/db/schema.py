r"""The schema as numbered steps: files like `002-words.sql` in a family's folder, of idempotent DDL.

A step may include other files, relative to it (`\ir tables/notes.sql`), and say what stands for names in them (`\ir
../indexing/tables.sql corpus=talks`: talks for <corpus>); its text is what it says with them. A step that older
versions of ELF cannot work with has a line that says `-- breaks: older`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from blake3 import blake3

from elf.core.errors import InternalError, StartupError
from elf.db.queries import QUERY_FILES, read_sql, sql_folder

COMMON: Final = "common"  # the steps of what all families share

_INCLUDE = re.compile(r"^\\ir[ \t]+(\S+)((?:[ \t]+\w+=\w+)*)[ \t]*$", re.MULTILINE)
_UNSAID = re.compile(r"<(?!vector_dim>)\w+>")
_CREATED = re.compile(
    r"^CREATE (?:(?:(?:UNLOGGED )?TABLE|(?:UNIQUE )?INDEX) IF NOT EXISTS|OR REPLACE VIEW) (\w+)", re.MULTILINE
)
_DROPPED = re.compile(r"^DROP (?:TABLE|INDEX|VIEW) IF EXISTS (\w+)", re.MULTILINE)
_VECTOR = re.compile(r"^\s*(?:ADD COLUMN IF NOT EXISTS )?(\w+) vector\(<vector_dim>\)", re.MULTILINE)
_FILE_NAME = re.compile(r"([0-9]{3})-[a-z0-9]+(?:-[a-z0-9]+)*")
_MARK = re.compile(r"^--[ \t]*breaks\b(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Step:
    """One change of the schema; `name` is that of its file without the ending, `text` has no values filled in."""

    family: str
    name: str
    text: str

    def __str__(self) -> str:
        return f"{self.family}/{self.name}"

    @property
    def key(self) -> tuple[str, str]:
        """What it is recorded by."""
        return self.family, self.name

    @cached_property
    def digest(self) -> str:
        return blake3(self.text.encode()).hexdigest()

    @cached_property
    def breaks_older(self) -> bool:
        return _MARK.search(self.text) is not None

    @cached_property
    def creates(self) -> frozenset[str]:
        """The tables, indexes and views that it creates."""
        return frozenset(_CREATED.findall(self.text))

    @cached_property
    def drops(self) -> frozenset[str]:
        """The tables, indexes and views that it drops."""
        return frozenset(_DROPPED.findall(self.text))

    @cached_property
    def vector_columns(self) -> frozenset[str]:
        """The names of the columns that hold vectors of the configured length."""
        return frozenset(_VECTOR.findall(self.text))

    def script(self, *, vector_dim: int) -> str:
        """Return what Postgres is to run."""
        return _filled(self.text, vector_dim)


def schema_steps(families: Iterable[tuple[str, Path]]) -> tuple[Step, ...]:
    """Return the steps of what all families share and then those of the given ones, each a name and a folder.

    Raises StartupError for a file that cannot be read, is numbered wrongly or has a mark that is not known.
    """
    folders = [(COMMON, sql_folder() / COMMON), *families]
    return tuple(step for family, folder in folders for step in _read_steps(family, folder))


def created_by(steps: Sequence[Step]) -> frozenset[str]:
    """Return the tables, indexes and views that are there after these steps, applied in their order."""
    names: frozenset[str] = frozenset()
    for step in steps:
        names = (names | step.creates) - (step.drops - step.creates)
    return names


def next_steps(
    steps: Sequence[Step], *, done: Collection[tuple[str, str]], missing: Collection[str]
) -> list[Step]:
    """Return what is to be applied next, as one: a step that is not done, or what makes the `missing` again.

    The latter are the steps of a family from the first that has lost something to the last that is done: what a
    later one changed of an earlier one is so changed again.
    """
    applied = [step for step in steps if step.key in done]
    for place, step in enumerate(applied):
        if step.creates.intersection(missing):
            return [later for later in applied[place:] if later.family == step.family]
    return [step for step in steps if step not in applied][:1]


def _read_steps(family: str, folder: Path) -> list[Step]:
    paths = sorted(path for path in folder.glob("*.sql") if not path.match(QUERY_FILES))
    for number, path in enumerate(paths, start=1):
        match = _FILE_NAME.fullmatch(path.stem)
        if match is None or int(match[1]) != number:
            raise StartupError(
                f"{path} is no schema step: the files of a family are named like 001-tables.sql, and this one"
                f" would be number {number:03}"
            )
    if not paths and not any(folder.glob(QUERY_FILES)):
        raise StartupError(f"the family {family} has neither a schema step nor a statement in {folder}")
    return [_read_step(family, path) for path in paths]


def _read_step(family: str, path: Path) -> Step:
    text = _resolve(path, including=())
    if wrong := [mark for mark in _MARK.findall(text) if mark.strip() != ": older"]:
        raise StartupError(f"{path}: a step may be marked '-- breaks: older', not '-- breaks{wrong[0]}'")
    if unsaid := _UNSAID.search(text):
        raise StartupError(f"{path} does not say what {unsaid[0]} is, of which an included file makes use")
    return Step(family, path.stem, text)


def render(path: Path, *, vector_dim: int) -> str:
    r"""Return the script of a file with its `\ir` lines replaced by the files they name, relative to it.

    Raises StartupError for a file that cannot be read or includes itself.
    """
    return _filled(_resolve(path, including=()), vector_dim)


def _filled(text: str, vector_dim: int) -> str:
    return text.replace("<vector_dim>", str(vector_dim))


def _resolve(path: Path, *, including: tuple[Path, ...]) -> str:
    if path in including:
        raise StartupError(f"the SQL file {path} includes itself")

    def included(match: re.Match[str]) -> str:
        text = _resolve((path.parent / match[1]).resolve(), including=(*including, path))
        for said in match[2].split():
            name, _, value = said.partition("=")
            text = text.replace(f"<{name}>", value)
        return text

    return _INCLUDE.sub(included, read_sql(path))


def created_names(script: str) -> list[str]:
    """Return the names of the tables, indexes and views a script creates. Raises InternalError when it creates
    none.
    """
    names = _CREATED.findall(script)
    if not names:
        raise InternalError("the schema creates nothing")
    return names
