"""Runs a command on a network of its own that leads nowhere, and writes down which names it looks up (Linux).

    python secluded.py NAMES_FILE COMMAND...

Whatever looks a name up in there, in whatever language, asks a name server of ours, which knows none. It takes a
network namespace, which an ordinary user may make on most systems; where not, the exit code is CANNOT.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from pathlib import Path

CANNOT = 77
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_SET_ADDRESS, _SET_FLAGS, _IS_UP = 0x8916, 0x8914, 0x1
_DIE_WITH_PARENT = 1


def main(names_file: str, *command: str) -> None:
    """Become the command."""
    if not _seclude():
        sys.exit(CANNOT)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        _begin_interface("lo", "127.0.0.1")
        for number, address in enumerate(_name_servers()):
            _begin_interface(f"lo:{number}", address)
        server.bind(("0.0.0.0", 53))
        if os.fork() == 0:
            ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
            _know_no_name(server, Path(names_file))
    os.execvp(command[0], command)


def _seclude() -> bool:
    libc = ctypes.CDLL(None)
    if libc.unshare(_NEW_NETWORK) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_NETWORK | _NEW_USER) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


def _name_servers() -> list[str]:
    """The name servers that the system asks, if they are not on this machine anyway."""
    lines = [line.split() for line in Path("/etc/resolv.conf").read_text().splitlines()]
    given = [words[1] for words in lines if len(words) > 1 and words[0] == "nameserver"]
    return [address for address in given if ":" not in address and not address.startswith("127.")]


def _begin_interface(name: str, address: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        where = struct.pack("16sH2x4s8x", name.encode(), socket.AF_INET, socket.inet_aton(address))
        fcntl.ioctl(control, _SET_ADDRESS, where)
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sH14x", name.encode(), _IS_UP))


def _know_no_name(server: socket.socket, names_file: Path) -> None:
    while True:
        query, client = server.recvfrom(4096)
        with names_file.open("a", encoding="utf-8") as names:
            names.write(f"{_name(query)}\n")
        server.sendto(query[:2] + b"\x81\x83" + query[4:6] + bytes(6) + query[12:], client)  # NXDOMAIN


def _name(query: bytes) -> str:
    """The name that a DNS query asks for (RFC 1035, section 4.1.2)."""
    labels, place = [], 12
    while length := query[place]:
        labels.append(query[place + 1 : place + 1 + length].decode("ascii", errors="replace"))
        place += 1 + length
    return ".".join(labels)


if __name__ == "__main__":
    main(*sys.argv[1:])
