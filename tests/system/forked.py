"""Run a program that a fork server forks, with the standard streams, the folder and the variables of this
process, and end as it ends. Signals are handed on.

    python -I -S forked.py SOCKET PROGRAM [ARGUMENT ...]

It stands for the program where somebody else starts it by a command; see tests/system/fork_server.py.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys


def main() -> None:
    path, program, *arguments = sys.argv[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
        link.connect(path)
        message = json.dumps([program, arguments, os.getcwd(), dict(os.environ)])
        socket.send_fds(link, [message.encode()], [0, 1, 2])
        pid = int(link.recv(64))
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        code = int(link.recv(64))
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


if __name__ == "__main__":
    main()
