"""The index process as its parent sees it: started, awaited, stopped within a deadline."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

import elf
from elf.core.errors import IndexUnavailable, StartupError
from elf.index.edge.folder import FolderInUse
from elf.index.edge.protocol import FAILED, READY_LINE, ExitCode

STOP_DEADLINE_S: Final = 4.0
KILL_DEADLINE_S: Final = 1.0
_MAX_LINE_BYTES: Final = 65_536


class EdgeProcess:
    """An index process that is this process's child. Make it with `start`; `stop` it whatever happens."""

    def __init__(self, process: Process, folder: Path) -> None:
        self._process = process
        self._name = f"the index process for {folder}"

    @classmethod
    async def start(cls, folder: Path, *, vector_dim: int) -> EdgeProcess:
        """Start a process; it does not serve before `wait_ready` returned.

        Its log lines go to this stderr.
        """
        process = await anyio.open_process(
            # -P: the folder this was started in is not a place to import from.
            [
                *(sys.executable, "-P", "-m", "elf.index.edge.server", str(folder)),
                *("--vector-dim", str(vector_dim), "--watch-stdin"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,
            start_new_session=True,  # Ctrl-C is meant for ELF, which ends this process in order
            env=os.environ | {"PYTHONPATH": _import_path()},
        )
        return cls(process, folder)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait_ready(self, *, deadline_s: float) -> None:
        """Wait until the process listens.

        Raises FolderInUse when another process owns the folder, StartupError when the folder cannot be used, and
        IndexUnavailable when the process ended for another reason (it was
        killed, say) or is not up within `deadline_s`: the next start may succeed.
        """
        assert self._process.stdout is not None
        try:
            with anyio.fail_after(deadline_s):
                line = await BufferedByteReceiveStream(self._process.stdout).receive_until(
                    b"\n", _MAX_LINE_BYTES
                )
        except TimeoutError as error:
            raise IndexUnavailable(f"{self._name} is not up after {deadline_s:g} s") from error
        except (anyio.IncompleteRead, anyio.DelimiterNotFound, anyio.BrokenResourceError) as error:
            code = await self.wait()
            raise IndexUnavailable(f"{self._name} ended with exit code {code}") from error
        text = line.decode(errors="replace")
        if text != READY_LINE:
            await self._raise_failure(text.removeprefix(FAILED))

    async def _raise_failure(self, reason: str) -> None:
        if await self.wait() == ExitCode.FOLDER_IN_USE:
            raise FolderInUse(reason)
        raise StartupError(reason)

    async def wait(self) -> int:
        """Wait for the end and return the exit code, negative for a signal."""
        return await self._process.wait()

    def kill(self) -> None:
        """End it at once, if it runs; `stop` it all the same."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    async def stop(self) -> None:
        """End it in order by closing its stdin, or by SIGKILL when that takes too long.

        Always ends in finite time.
        """
        with anyio.move_on_after(STOP_DEADLINE_S, shield=True):
            if self._process.stdin is not None:
                await self._process.stdin.aclose()
            await self._process.wait()
        if self._process.returncode is None:
            self.kill()
        with anyio.move_on_after(KILL_DEADLINE_S, shield=True):
            await self._process.aclose()


def _import_path() -> str:
    """Where the child finds this very package, whatever put it on the parent's path."""
    return os.pathsep.join(
        [str(Path(elf.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    )
