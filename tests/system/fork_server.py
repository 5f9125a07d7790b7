"""A fork server: a process that has imported the code of ELF and forks itself for each program that a test starts.

Importing the code takes two seconds of processor time, several times what the rest of a service's start takes. A fork
inherits the imported modules, so a test pays only for what the program does itself. A program is a module, which runs
as `python -m MODULE` would run it, or MODULE:FUNCTION, which runs as a script of an installation does; it ends like any
Python program. Tests that are about the start of a process use `subprocess` instead.

    python -m tests.system.fork_server LISTENER LIFETIME

LISTENER is the descriptor of a Unix socket of type SOCK_SEQPACKET that listens. On each connection the server is sent
one message, a JSON array [program, arguments, folder, environment] with three descriptors: standard input, output and
error. It answers with the process id and, when the process has ended, with its exit code (negative: the signal). It
ends when the other end of the socket LIFETIME is closed.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import re
import runpy
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, NoReturn, Self, cast

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
CONTEXT: Final = "MUTANTS_CONTEXT"  # for which test something runs, as ops/mutants tells it to coverage.py


class ForkedProcess:
    """A process of the fork server, with the part of `subprocess.Popen` that tests use."""

    def __init__(self, link: socket.socket, stdout: BinaryIO | None) -> None:
        self._link = link
        self.stdout = stdout
        self.returncode: int | None = None
        self.pid = int(self._told(None) or b"")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.stdout is not None:
            self.stdout.close()
        self.wait()

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
        if self.returncode is None and (told := self._told(timeout_s)) is not None:
            self.returncode = int(told)
            self._link.close()
        return self.returncode

    def _told(self, timeout_s: float | None) -> bytes | None:
        """Return the next message of the server; None if there is none in time."""
        if not select.select([self._link], [], [], timeout_s)[0]:
            return None
        told = self._link.recv(64)
        assert told, "the fork server has ended"
        return told


class ForkServer:
    """The tests' end of a fork server."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fork-"))
        atexit.register(shutil.rmtree, self._folder, ignore_errors=True)
        self._path = self._folder / "socket"
        self._lifetime, other = socket.socketpair()
        with other, socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(str(self._path))
            listener.listen()
            fds = [listener.fileno(), other.fileno()]
            command = [sys.executable, "-m", "tests.system.fork_server", *map(str, fds)]
            for_no_test = {name: value for name, value in os.environ.items() if name != CONTEXT}
            self._process = subprocess.Popen(command, cwd=REPO, pass_fds=fds, env=for_no_test)

    def start(
        self,
        program: str | Path,
        *arguments: str | Path,
        folder: Path = REPO,
        environment: Mapping[str, str] | None = None,
        stdin: BinaryIO | None = None,
        stdout: BinaryIO | int | None = None,
        stderr: BinaryIO | None = None,
    ) -> ForkedProcess:
        """Run a program in a folder, with the variables of this process or others.

        Its standard input is empty unless a file is given. As with `subprocess.Popen`, what it prints goes where this
        process prints, to a file, or with subprocess.PIPE to a pipe that is `stdout` of the process.
        """
        variables = os.environ if environment is None else environment
        message = json.dumps([str(program), [str(one) for one in arguments], str(folder), dict(variables)])
        pipe: BinaryIO | None = None
        link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ExitStack() as stack:
            if stdin is None:
                stdin = stack.enter_context(open(os.devnull, "rb"))
            if stdout == subprocess.PIPE:
                reading, writing = os.pipe()
                pipe = cast("BinaryIO", open(reading, "rb", buffering=0))  # noqa: SIM115 - closed by its process
                stdout = stack.enter_context(open(writing, "wb"))
            outputs = [
                number if file is None else file if isinstance(file, int) else file.fileno()
                for number, file in ((1, stdout), (2, stderr))
            ]
            link.connect(str(self._path))
            socket.send_fds(link, [message.encode()], [stdin.fileno(), *outputs])
        return ForkedProcess(link, pipe)

    def command(self, program: str, *arguments: str | Path) -> list[str]:
        """Return a command for whoever starts commands: a process that has a program run, hands signals on to it and
        ends as it ends.
        """
        waiting = [sys.executable, "-I", "-S", str(REPO / "tests/system/forked.py"), str(self._path)]
        return [*waiting, program, *map(str, arguments)]


@cache
def fork_server() -> ForkServer:
    """The server of this process, which ends with it; programs that it has forked go on."""
    return ForkServer()


def run_elf(
    *arguments: str | Path,
    folder: Path = REPO,
    environment: Mapping[str, str] | None = None,
    given: str = "",
    timeout: float = 60.0,
) -> subprocess.CompletedProcess[str]:
    """Run a command of `elf` to its end, as `subprocess.run` does; `given` is its standard input."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as stderr:
        stdin.write(given.encode())
        stdin.seek(0)
        process = fork_server().start(
            "elf",
            *arguments,
            folder=folder,
            environment=environment,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )
        killer = threading.Timer(timeout, process.kill)
        killer.start()
        with process:
            assert process.stdout is not None
            printed = process.stdout.read()
        code = process.wait()
        killer.cancel()
        stderr.seek(0)
        complaint = stderr.read()
    assert code != -signal.SIGKILL, f"elf {arguments} did not end within {timeout} s: {complaint.decode()}"
    return subprocess.CompletedProcess(arguments, code, printed.decode(), complaint.decode())


class _Request(NamedTuple):
    program: str
    arguments: list[str]
    folder: str
    environment: dict[str, str]
    streams: list[int]
    link: socket.socket


def _requests(
    listener: socket.socket, lifetime: socket.socket, links: dict[int, socket.socket]
) -> Iterator[_Request]:
    """Yield what is asked for until the tests' process has ended, and tell of processes that end."""
    woken, waking = socket.socketpair()
    woken.setblocking(False)
    waking.setblocking(False)
    signal.set_wakeup_fd(waking.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([listener, lifetime, woken], [], [])
        if woken in ready:
            woken.recv(4096)
            _tell_ended(links)
        if listener in ready:
            link, _ = listener.accept()
            message, streams, _, _ = socket.recv_fds(link, MAX_MESSAGE_BYTES, FDS)
            if message:
                yield _Request(*json.loads(message), streams, link)
        elif lifetime in ready:
            return


def _tell_ended(links: dict[int, socket.socket]) -> None:
    while links:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        with links.pop(pid) as link:
            try:
                link.sendall(b"%d" % os.waitstatus_to_exitcode(status))
            except BrokenPipeError:
                continue  # nobody waits for it


def _serve(listener: socket.socket, lifetime: socket.socket) -> None:
    """Fork for each request, until the tests' process has ended."""
    links: dict[int, socket.socket] = {}
    for request in _requests(listener, lifetime, links):
        importlib.import_module(
            request.program.partition(":")[0]
        )  # so that the next fork inherits what it imports
        if (pid := os.fork()) == 0:
            for inherited in (listener, lifetime, *links.values()):
                inherited.close()
            _run(request)
        for fd in request.streams:
            os.close(fd)
        request.link.sendall(b"%d" % pid)
        links[pid] = request.link


def _run(request: _Request) -> NoReturn:
    """Become the program, and end as it ends."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    request.link.close()
    for target, fd in enumerate(request.streams):
        os.dup2(fd, target)
        os.close(fd)
    # The inherited objects believe that their descriptors are what they were when the server started.
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - open until the process ends
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(request.environment)
    if (coverage := sys.modules.get("coverage")) and (measuring := coverage.Coverage.current()):
        measuring.switch_context(request.environment.get(CONTEXT, ""))
    time.tzset()
    tempfile.tempdir = None
    os.chdir(request.folder)
    sys.argv = [request.program, *request.arguments]
    module, _, function = request.program.partition(":")
    code: object = 0
    try:
        if function:
            code = getattr(sys.modules[module], function)()
        else:
            if module != "elf":
                del sys.modules[module]  # it runs as __main__, and not twice
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001 - Python's own last resort
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        sys.stderr.write(f"{code}\n")
        code = 1
    # As Python ends, but for freeing what all modules have made, which takes as long as the program's own work.
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    os._exit(code or 0)


def _modules() -> Iterator[str]:
    for package in (elf, actors):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not NOT_IMPORTED.match(module.name):
                yield module.name


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (*_modules(), *OTHERS):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    listener, lifetime = (socket.socket(fileno=int(fd)) for fd in sys.argv[1:])
    _serve(listener, lifetime)


if __name__ == "__main__":
    main()
