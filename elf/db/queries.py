"""Named SQL: statements live in .sql files and are called by name.

A file is a sequence of blocks; text before the first block is a comment on the file.

    -- name: lock_note
    -- Reads and locks one note by id.
    SELECT ... FOR UPDATE;

The comment lines that follow the name are the description. Each statement is sent with its name as a leading
comment, so that pg_stat_activity and slow-query logs say which one it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from elf.core.errors import StartupError

QUERY_FILES = "*.queries.sql"
_NAME_LINE = re.compile(r"--[ \t]*name:(.*)")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Queries(Mapping[str, str]):
    """The statements of one family by name, as items (`queries["lock_note"]`) or attributes
    (`queries.lock_note`).
    """

    def __init__(self, statements: Mapping[str, str]) -> None:
        self._statements = dict(statements)

    @classmethod
    def load(
        cls, folder: Path, *, required: Iterable[str] = (), values: Mapping[str, str] | None = None
    ) -> Queries:
        """Read every `*.queries.sql` of a folder, and fill `values` in: `<name>` becomes the value of that name.

        Raises StartupError for a file that cannot be read, a malformed or doubled block, and names in
        `required` that no file defines.
        """
        statements: dict[str, str] = {}
        for path in sorted(folder.glob(QUERY_FILES)):
            text = read_sql(path)
            for name, statement in parse_blocks(filled(text, values or {}), source=str(path)):
                if name in statements:
                    raise StartupError(f"{path}: the query {name} is defined twice in {folder}")
                statements[name] = statement
        if missing := sorted(set(required) - statements.keys()):
            raise StartupError(f"{folder} does not define the queries {', '.join(missing)}")
        return cls(statements)

    def __getitem__(self, name: str) -> str:
        return self._statements[name]

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)  # while unpickled or copied, before _statements is there
        try:
            return self._statements[name]
        except KeyError:
            raise AttributeError(f"there is no query named {name}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._statements)

    def __len__(self) -> int:
        return len(self._statements)


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return SQL in which each `<name>` is the value of that name."""
    for name, value in values.items():
        text = text.replace(f"<{name}>", value)
    return text


def parse_blocks(text: str, *, source: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the statement, led by its name as a comment, of each block of a file.

    Raises StartupError for a name that is not lower_snake_case and for a block without a description or
    statement.
    """
    name: str | None = None
    lines: list[str] = []
    for line in [*text.splitlines(), "-- name: end"]:
        match = _NAME_LINE.fullmatch(line.strip())
        if match is None:
            lines.append(line)
            continue
        if name is not None:
            yield name, _statement(name, lines, source=source)
        name, lines = match.group(1).strip(), []
        if not _NAME.fullmatch(name) or hasattr(Queries, name):
            raise StartupError(f"{source}: {name!r} is not a query name; use lower_snake_case")


def _statement(name: str, lines: list[str], *, source: str) -> str:
    described = 0
    while described < len(lines) and lines[described].lstrip().startswith("--"):
        described += 1
    if not described:
        raise StartupError(f"{source}: the query {name} has no sentence of description")
    body = "\n".join(lines[described:]).strip().removesuffix(";").rstrip()
    if not body:
        raise StartupError(f"{source}: the query {name} has no statement")
    return f"-- {name}\n{body}"


def sql_folder() -> Path:
    """Return the folder of the SQL files: `elf/sql` of an installed wheel, or `sql` beside `elf` in a
    checkout.

    Raises StartupError when there is neither.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "sql", package.parent / "sql"):
        if (folder / "init.sql").is_file():
            return folder
    raise StartupError(f"the SQL files of ELF are missing: there is no init.sql in {package / 'sql'}")


def read_sql(path: Path) -> str:
    """Read one SQL file. Raises StartupError when it is missing or damaged."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StartupError(f"the SQL file {path} cannot be read: {error}") from error
