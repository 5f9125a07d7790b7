"""`elf key new`: make a key for a program, and the table of a config that lists it."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from elf.cli.commands import EXIT_CODES
from elf.cli.flags import json_flag
from elf.cli.outcome import ExitCode, UsageError
from elf.cli.text import print_json
from elf.config.auth import ApiKey, RoleName
from elf.config.faults import describe
from elf.core.api_key import hash_of, new_key

FLAGS = {"tenant_id": "tenant", "project_id": "project", "agent_id": "agent"}


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add what `elf key new` takes."""
    command.epilog = (
        "The key is shown this once, or written to a file; the config has its hash, from which nobody can make it. "
        f"What a flag names binds whoever has the key; without it that is free. {EXIT_CODES}"
    )
    command.add_argument("name", metavar="NAME", help="what the program is called, as its client id")
    for name in ("tenant", "project", "agent"):
        command.add_argument(f"--{name}", default="", metavar="ID", help=f"bind it to this {name}")
    command.add_argument("--read-profile", default="", metavar="NAME", help="bind it to this read profile")
    command.add_argument(
        "--role", default="user", choices=get_args(RoleName), help="what it may do (default: user)"
    )
    command.add_argument("--user", default="", metavar="NAME", help="the user that it always speaks for")
    command.add_argument(
        "--acts-for-users", action="store_true", help="it may name the user of each call, in X-User-ID"
    )
    command.add_argument(
        "--to", type=Path, metavar="FILE", help="write the key to this new file, for its owner alone to read"
    )
    json_flag(command)


def new(options: argparse.Namespace) -> int:
    """Print a key, or write it to a file, and the table. Neither a config nor a service is needed."""
    key = new_key()
    table = _table(options, key)
    if options.to is not None:
        _write(options.to, key)
    if options.json:
        shown = {"key": key} if options.to is None else {"key_file": str(options.to)}
        print_json({**shown, "table": table})
        return ExitCode.DONE
    where = key if options.to is None else f"# The key is in {options.to}, for its owner alone to read."
    print(f"{where}\n")
    print("# The key is not shown again. This goes into the config of the service:")
    print("[[security.auth.keys]]")
    for name, value in table.items():
        print(f"{name} = {_toml(value)}")
    return ExitCode.DONE


def _table(options: argparse.Namespace, key: str) -> dict[str, str | bool]:
    """Return what the config lists, without what is as it is by itself. Raises UsageError for what it does not take."""
    given = {
        "name": options.name,
        "hash": hash_of(key),
        **{name: getattr(options, flag) for name, flag in FLAGS.items()},
        "read_profile": options.read_profile,
        "role": options.role,
        "user": options.user,
        "acts_for_users": options.acts_for_users,
    }
    try:
        table = ApiKey.model_validate(given)
    except ValidationError as error:
        fault = describe(error.errors()[0], ApiKey)
        flag = "NAME" if fault.key == "name" else f"--{FLAGS.get(fault.key, fault.key).replace('_', '-')}"
        raise UsageError(f"{flag} {fault.problem}") from None
    listed = table.model_dump(exclude_defaults=True)
    return {name: listed[name] for name in given if name in listed}


def _write(file: Path, key: str) -> None:
    try:
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as written:
            written.write(f"{key}\n")
    except FileExistsError as error:
        raise UsageError(f"{file} is there already and is left as it is; name another file") from error
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file} cannot be written: {reason}") from error


def _toml(value: str | bool) -> str:
    # JSON writes strings and booleans as TOML does, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
