"""Reading a config file: every fault at once, each with its key and what is allowed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from elf.config.model import Config
from elf.core.errors import ConfigError, ConfigFault


def load(path: Path) -> Config:
    """Read and check a config file. Raises ConfigError with every fault found."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [ConfigFault("", f"cannot be read: {error}")]) from error
    return loads(text, source=str(path))


def loads(text: str, *, source: str) -> Config:
    """Check the text of a config file. Raises ConfigError with every fault found."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(source, [ConfigFault("", f"is not TOML: {error}")]) from error
    try:
        return Config.model_validate(tables)
    except ValidationError as error:
        raise ConfigError(source, [_fault(detail) for detail in error.errors()]) from None


def _fault(detail: Any) -> ConfigFault:
    key = ".".join(str(part) for part in detail["loc"])
    return ConfigFault(key, _problem(detail))


def _problem(detail: Any) -> str:
    if detail["type"] == "missing":
        return "is missing"
    if detail["type"] == "extra_forbidden":
        return "is not a known key"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return message[:1].lower() + message[1:]
