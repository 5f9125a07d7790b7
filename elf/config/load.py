"""Reading a config file: every fault at once, each with its key and what is allowed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from pydantic import ValidationError, create_model

from elf.config import rules
from elf.config.breach import FAULTY, KeyPath
from elf.config.faults import describe, dotted
from elf.config.model import Config
from elf.config.table import Table
from elf.config.tables import TABLES
from elf.core.errors import ConfigError, ConfigFault

Tables: TypeAlias = Mapping[str, type[Table]]

EXAMPLE = "elf.example.toml"
PACKAGED: Final = (
    Path(__file__).resolve().parent.parent / EXAMPLE
)  # in an installed wheel; a checkout has none there


def load(path: Path, tables: Tables = TABLES) -> Config:
    """Read and check a config file; relative folders in it are below the folder it stands in.

    `tables` are those of the families that there are, by their names.

    Those of the default config in an installed package are below the user's home folder: data has no place among code.
    Raises ConfigError with every fault found.
    """
    return loads(_read(path), source=str(path), folder=_folder_of(path), tables=tables)


def _folder_of(path: Path) -> Path:
    if path.absolute() != PACKAGED:
        return path.absolute().parent
    try:
        return Path.home()
    except RuntimeError as error:  # neither HOME nor the system's list of users says
        problem = (
            "keeps its data in the home folder, and this user has none: copy the file to where data may be"
        )
        raise ConfigError(str(path), [ConfigFault("", problem)]) from error


def loads(text: str, *, source: str, folder: Path | None = None, tables: Tables = TABLES) -> Config:
    """Check the text of a config file. Without a folder, relative folders in it stay as they are.

    Raises ConfigError with every fault found.
    """
    values, model = _parse(text, source), config_model(tables)
    try:
        config = model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(
            source, _faults(values, error, model)
        ) from None  # the chain would show the file's values
    return config if folder is None else config.anchored(folder)


def config_model(tables: Tables = TABLES) -> type[Config]:
    """Return the model of a config file that may have these tables; the same for the same ones."""
    return _config_model(tuple(tables.items()))


@cache
def _config_model(tables: Iterable[tuple[str, type[Table]]]) -> type[Config]:
    fields: dict[str, Any] = {name: (table | None, None) for name, table in tables}
    return create_model("Config", __base__=Config, **fields)


def _read(path: Path) -> str:
    try:
        # A byte order mark is what some editors put in front of UTF-8; it says nothing.
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        problem = "there is no such file"
    except IsADirectoryError:
        problem = "is a folder, not a file"
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 text: byte {error.start} cannot be read"
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        problem = f"cannot be read: {error}"
    raise ConfigError(str(path), [ConfigFault("", problem)])


def _parse(text: str, source: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        last_line = len(text.splitlines()) or 1
        problem = str(error).replace("(at end of document)", f"(at line {last_line}, the end of the file)")
    except RecursionError:
        problem = "tables or lists are nested too deeply"
    except ValueError:
        problem = "a number has too many digits"
    raise ConfigError(source, [ConfigFault("", f"is not TOML: {problem}")])


def _faults(values: dict[str, Any], error: ValidationError, model: type[Config]) -> list[ConfigFault]:
    """List what the models found wrong with single values, then the rules broken among the sound ones."""
    details = [detail for detail in error.errors() if detail["loc"]]
    sound = _without([detail["loc"] for detail in details], values)
    broken = [ConfigFault(dotted(breach.path), breach.problem) for breach in rules.breaches(sound)]
    return [describe(detail, model) for detail in details] + broken


def _without(paths: Iterable[KeyPath], tables: dict[str, Any]) -> dict[str, Any]:
    """Copy the tables with the values at these paths, where there are any, replaced by FAULTY."""
    copy: dict[str, Any] = _copied(tables)
    for path in paths:
        holder: Any = copy
        for part in path[:-1]:
            holder = holder[part] if _has(holder, part) else None
        if _has(holder, path[-1]):
            holder[path[-1]] = FAULTY
    return copy


def _has(holder: Any, part: str | int) -> bool:
    return part in holder if isinstance(holder, dict) else isinstance(holder, list) and isinstance(part, int)


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied(inner) for key, inner in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
