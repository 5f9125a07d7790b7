"""A fork server: a process that has imported the service's code and forks itself for each service of a test.

Importing the code takes two seconds of processor time, several times what the rest of a start takes. A fork inherits
the imported modules, so a test pays only for what the service does itself. A service that is started here runs the
same command as `elf up` and ends like any Python program. Tests that are about the start of a process use
`subprocess` instead.

    python -m tests.system.fork_server FD

FD is a Unix socket of type SOCK_SEQPACKET. A message on it is a JSON object {"arguments", "folder", "environment"},
with three file descriptors: standard output, standard error and a stream socket. On the latter the server writes the
process id in a line and, when the process has ended, its exit code (negative: the signal) in a second line.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import pkgutil
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

import actors
import elf

REPO: Final = Path(__file__).resolve().parents[2]
# Programs of the client, and whatever imports onnxruntime: it starts a thread, and no thread survives a fork.
NOT_IMPORTED: Final = re.compile(
    r"elf\.(?:claude|langgraph|llama_index|openai_agents|pydantic_ai|providers\.local)\b|.*\.__main__$"
)
OTHERS: Final = ("anyio._backends._asyncio", "httpcore._async", "threadpoolctl", "uvloop")
MAX_MESSAGE_BYTES: Final = 1 << 20
FDS: Final = 3


class ForkedProcess:
    """A process of the fork server, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, link: socket.socket, stdout: int) -> None:
        self._link = link
        self._received = b""
        self.stdout = open(stdout, "rb", buffering=0)  # noqa: SIM115 - closed by whoever waits for the end
        self.returncode: int | None = None
        self.pid = int(self._line(None) or b"")

    def poll(self) -> int | None:
        """Return the exit code, or None while the process runs."""
        return self._ended(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit code. Raises subprocess.TimeoutExpired."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout_s: float | None) -> int | None:
        if self.returncode is None and (line := self._line(timeout_s)) is not None:
            self.returncode = int(line)
            self._link.close()
        return self.returncode

    def _line(self, timeout_s: float | None) -> bytes | None:
        """Return the next line of the server; None if there is none in time."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while b"\n" not in self._received:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not select.select([self._link], [], [], left)[0]:
                return None
            chunk = self._link.recv(64)
            assert chunk, "the fork server has ended"
            self._received += chunk
        line, _, self._received = self._received.partition(b"\n")
        return line


class ForkServer:
    """The test's end of a fork server."""

    def __init__(self) -> None:
        self._socket, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with other:
            command = [sys.executable, "-m", "tests.system.fork_server", str(other.fileno())]
            self._process = subprocess.Popen(command, cwd=REPO, pass_fds=[other.fileno()])

    def start(
        self, arguments: Sequence[str], *, folder: Path, environment: Mapping[str, str], stderr: int
    ) -> ForkedProcess:
        """Run `elf` with these arguments in a folder; what it prints can be read from `stdout`."""
        message = {"arguments": [*arguments], "folder": str(folder), "environment": dict(environment)}
        link, other = socket.socketpair()
        reading, writing = os.pipe()
        with other:
            try:
                socket.send_fds(
                    self._socket, [json.dumps(message).encode()], [writing, stderr, other.fileno()]
                )
            finally:
                os.close(writing)
        return ForkedProcess(link, reading)

    def close(self) -> None:
        """End the server; processes that it has forked go on."""
        self._socket.close()
        self._process.wait()


@cache
def fork_server() -> ForkServer:
    """The server of this process."""
    return ForkServer()


def close_fork_server() -> None:
    """End the server of this process, if it has one."""
    if fork_server.cache_info().currsize:
        fork_server().close()
        fork_server.cache_clear()


class _Request(NamedTuple):
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    stdout: int
    stderr: int
    link: socket.socket


def _requests(server: socket.socket, links: dict[int, socket.socket]) -> Iterator[_Request]:
    """Yield what is asked for until the test's process closes the socket, and tell of processes that end."""
    woken, waking = socket.socketpair()
    woken.setblocking(False)
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([server, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _tell_ended(links)
        if server in ready:
            message, fds, _, _ = socket.recv_fds(server, MAX_MESSAGE_BYTES, FDS)
            if not message:
                return
            stdout, stderr, link = fds
            yield _Request(
                **json.loads(message), stdout=stdout, stderr=stderr, link=socket.socket(fileno=link)
            )


def _tell_ended(links: dict[int, socket.socket]) -> None:
    while links:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with links.pop(pid) as link:
            try:
                link.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))
            except BrokenPipeError:
                continue  # nobody waits for it


def _serve(server: socket.socket) -> int:
    """Fork for each request. Returns in each child once its command has ended, with the exit code."""
    links: dict[int, socket.socket] = {}
    for request in _requests(server, links):
        if (pid := os.fork()) == 0:
            for link in links.values():
                link.close()
            server.close()
            return _run(request)
        os.close(request.stdout)
        os.close(request.stderr)
        request.link.sendall(b"%d\n" % pid)
        links[pid] = request.link
    return 0


def _run(request: _Request) -> int:
    """Become the service."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    request.link.close()
    for fd, target in ((request.stdout, 1), (request.stderr, 2)):
        os.dup2(fd, target)
        os.close(fd)
    # The inherited objects believe that their descriptors are what they were when the server started.
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request.environment)
    time.tzset()
    tempfile.tempdir = None
    os.chdir(request.folder)
    sys.argv = ["elf", *request.arguments]
    from elf.commands import elf

    return elf()


def _modules() -> Iterator[str]:
    for package in (elf, actors):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not NOT_IMPORTED.match(module.name):
                yield module.name


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (*_modules(), *OTHERS):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    return _serve(socket.socket(fileno=int(sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
