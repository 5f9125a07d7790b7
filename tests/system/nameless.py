"""Runs a command as a user of another number, which the system has a name for or not (Linux).

    python nameless.py UID COMMAND...

It takes a user namespace, in which this very user has that number; where there is none, the exit code is CANNOT.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

CANNOT = 77
_NEW_USER = 0x10000000


def main(uid: str, *command: str) -> None:
    """Become the command, without what the environment says of the user."""
    user, group = os.geteuid(), os.getegid()
    if ctypes.CDLL(None).unshare(_NEW_USER) != 0:
        sys.exit(CANNOT)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{uid} {group} 1")
    for name in ("HOME", "USER", "LOGNAME"):
        os.environ.pop(name, None)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
