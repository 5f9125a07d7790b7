"""Runs the test suite of a checkout, in a folder of its own, and leaves no process of it behind."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from signal import SIGKILL
from typing import Any, Final, NamedTuple

import psutil

MEMORY: Final = Path("/dev/shm")  # Linux
PLUGIN: Final = "mutants_recording"
NOT_PASSED_ON: Final = (
    "PYTHONDONTWRITEBYTECODE", "PYTHONPATH", "PYTHONHOME", "PYTEST_PLUGINS", "PYTEST_ADDOPTS"
)  # fmt: skip


class Run(NamedTuple):
    """A run of the suite: pytest's exit code (None: out of time), the ids of failed tests, and other records."""

    code: int | None
    failed: list[str]
    recorded: list[Mapping[str, Any]]


@contextmanager
def work_folder() -> Iterator[Path]:
    """Make a folder, in memory if possible; end all processes that work in it, and remove it.

    Its path is short, since paths of sockets have to be. Postgres runs as another user when the tests run as root, so
    anybody may pass through it.
    """
    folder = Path(tempfile.mkdtemp(prefix="m.", dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        _end_processes_in(folder)
        shutil.rmtree(folder, ignore_errors=True)


def run_suite(
    repo: Path,
    folder: Path,
    arguments: Sequence[str],
    *,
    limit_s: float | None = None,
    is_quiet: bool = False,
    more: Mapping[str, str] | None = None,
) -> Run:
    """Run pytest in a checkout; `more` are environment variables. A run that takes longer than `limit_s` is killed."""
    venv = repo / ".venv"
    shutil.copy(Path(__file__).with_name("recording.py"), folder / f"{PLUGIN}.py")
    kept = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
    own = {
        "PATH": os.pathsep.join([str(venv / "bin"), kept.get("PATH", os.defpath)]),
        "PYTHONPATH": str(folder),
        "TMPDIR": str(folder),
        "MUTANTS_FOLDER": str(folder),
    }
    command = [
        str(venv / "bin" / "python"),
        "-m",
        "pytest",
        "-p",
        PLUGIN,
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    output = subprocess.DEVNULL if is_quiet else sys.stderr
    process = subprocess.Popen(
        command, cwd=repo, env=kept | own | dict(more or {}), start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=output, stderr=output,
    )  # fmt: skip
    try:
        code = process.wait(limit_s)
    except subprocess.TimeoutExpired:
        code = None
    finally:
        if process.poll() is None:
            os.killpg(process.pid, SIGKILL)
            process.wait()
    failed = folder / "failed"
    ids = [json.loads(line) for line in failed.read_text().splitlines()] if failed.exists() else []
    recorded = [json.loads(path.read_text()) for path in folder.glob("recorded.*.json")]
    return Run(code, list(dict.fromkeys(ids)), recorded)


def _end_processes_in(folder: Path) -> None:
    """Kill services, index processes and database servers that a killed run leaves; each names its folder somewhere."""
    while found := [process for process in psutil.process_iter() if _works_in(process, folder)]:
        for process in found:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(found, timeout=1.0)


def _works_in(process: psutil.Process, folder: Path) -> bool:
    try:
        if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
            return False
        said = [*process.cmdline(), process.cwd(), process.environ().get("TMPDIR", "")]
    except psutil.Error:  # gone, or somebody else's
        return False
    return any(f"{folder}/" in f"{text}/" for text in said)
