"""`elf init`: write a config file, whole and commented, to begin with.

A public one listens at every address of this machine, so it asks who calls, and a first key comes with it.
"""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Final

from elf.cli.config_file import NAME
from elf.cli.outcome import ExitCode, UsageError
from elf.config.example import example_file
from elf.core.api_key import hash_of, new_key
from elf.core.errors import StartupError

_CHANGES: Final = (
    ('\nhttp_bind = "127.0.0.1:', '\nhttp_bind = "0.0.0.0:'),
    ('\nmcp_bind = "127.0.0.1:', '\nmcp_bind = "0.0.0.0:'),
    ('\ngrpc_bind = "127.0.0.1:', '\ngrpc_bind = "0.0.0.0:'),
    ("\nbind_localhost_only = true\n", "\nbind_localhost_only = false\n"),
    ('\nmode = "off"\n# In mode off,', '\nmode = "required"\n# In mode off,'),
)
_LISTED: Final = """# The first key, which was shown when this file was written.
[[security.auth.keys]]
name = "first"
hash = "{hash}"
role = "admin"
"""


def run(options: argparse.Namespace) -> int:
    """Write the example config to the file and say what to do with it. Raises UsageError when it is there already."""
    file: Path = options.file
    text = example_file().read_text(encoding="utf-8")
    key = new_key() if options.public else None
    if key is not None:
        text = _public(text, key)
    try:
        with file.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError as error:
        raise UsageError(f"{file} is there already and is left as it is; name another file") from error
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"{file} cannot be written: {reason}") from error
    if key is not None:
        print(f"{key}\n")
        print("This key is not shown again: programs send it as X-API-Key, commands by --key-file. It may do")
        print("everything, and without one nobody is served; `elf key new NAME` makes others.\n")
    named = "" if file == Path(NAME) else f" -c {shlex.quote(str(file))}"
    print(f"{file} is written: every key with what it means; data will be kept in .elf/ beside it.")
    print(f"Start the service with `elf up{named}`; after a change, `elf check{named}` says every fault.")
    return ExitCode.DONE


def _public(text: str, key: str) -> str:
    """Return the text of the example, changed to listen at every address and to serve who has the key."""
    for old, new in _CHANGES:
        if text.count(old) != 1:
            raise StartupError(f"the example config of ELF has not once the line {old.strip()}")
        text = text.replace(old, new)
    return f"{text}\n{_LISTED.format(hash=hash_of(key))}"
