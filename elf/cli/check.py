"""`elf check`: say everything that is wrong with a config file, or that nothing is, and who may call by it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path

from elf.api.key_file import is_open_to_others, read_key_file
from elf.cli.outcome import ExitCode
from elf.cli.text import print_json
from elf.config import Config, load
from elf.config.auth import Auth
from elf.config.auth_rules import auth_warnings
from elf.config.tables.assistant import AssistantTable
from elf.core.errors import ConfigError, ConfigFault


def run(options: argparse.Namespace) -> int:
    """Check the file. With --json the faults are printed as data."""
    try:
        config = load(options.config)
    except ConfigError as error:
        if not options.json:
            raise
        print_json({"ok": False, "faults": _as_data(error.faults), "warnings": []})
        return ExitCode.USAGE
    warnings = list(_warnings(config))
    if options.json:
        print_json({"ok": True, "faults": [], "warnings": _as_data(warnings)})
        return ExitCode.DONE
    print(f"{options.config}: fine")
    print(f"security.auth.mode is {_who_may_call(config.security.auth)}")
    assistant: AssistantTable | None = getattr(config, "assistant", None)
    if assistant is not None and assistant.undeclared:
        print(f"categories that only assistant.allowlists names: {', '.join(assistant.undeclared)}")
    for warning in warnings:
        print(f"warning: {warning}")
    return ExitCode.DONE


def _who_may_call(auth: Auth) -> str:
    if auth.mode == "off":
        return (
            "off: nobody has to prove who calls, so every program on this machine reads and writes all memory, "
            f"under any name; without one it is {auth.dev_user}"
        )
    ways = [f"a key of {len(auth.keys)} listed"] if auth.keys else []
    ways += [f"a token of {auth.jwt.issuer}"] if auth.jwt is not None else []
    return f"required: who calls has {' or '.join(ways) or 'no way to prove it, so nobody is served'}"


def _warnings(config: Config) -> Iterator[ConfigFault]:
    """Yield what keeps nothing from starting, and should not stay."""
    yield from auth_warnings(config.security.auth)
    if not config.mcp.context.key_file:
        return
    file = Path(config.mcp.context.key_file)
    if is_open_to_others(file):
        problem = f"every user of this machine may read {file}; `chmod 600` lets its owner alone"
        yield ConfigFault("mcp.context.key_file", problem)
    try:
        read_key_file(file)
    except ValueError as error:
        yield ConfigFault("mcp.context.key_file", str(error))


def _as_data(faults: Iterable[ConfigFault]) -> list[dict[str, str]]:
    return [{"key": fault.key, "problem": fault.problem} for fault in faults]
