"""`elf init`: write a config file, whole and commented, to begin with."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from elf.cli.config_file import NAME
from elf.cli.outcome import ExitCode, UsageError
from elf.config.example import example_file


def run(options: argparse.Namespace) -> int:
    """Write the example config to the file and say what to do with it. Raises UsageError when it is there already."""
    file: Path = options.file
    text = example_file().read_text(encoding="utf-8")
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError as error:
        raise UsageError(f"{file} is there already and is left as it is; name another file") from error
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file} cannot be written: {reason}") from error
    named = "" if file == Path(NAME) else f" -c {shlex.quote(str(file))}"
    print(f"{file} is written: every key with what it means; data will be kept in .elf/ beside it.")
    print(f"Start the service with `elf up{named}`; after a change, `elf check{named}` says every fault.")
    return ExitCode.DONE
