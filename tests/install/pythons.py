"""The Pythons of this machine, and virtual environments made with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

THIS_VERSION: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
VERSIONS: Final = ("3.11", "3.12", "3.13")
_IS_USABLE: Final = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter, and its version such as 3.12."""

    path: Path
    version: str


def find_python(version: str) -> Python | None:
    """Return a Python of this version that can make virtual environments; None when there is none."""
    for path in _candidates(version):
        try:
            asked = subprocess.run([path, "-c", _IS_USABLE], capture_output=True, text=True, check=False)
        except OSError:
            continue
        if asked.stdout.strip() == version:
            return Python(path, version)
    return None


def _candidates(version: str) -> Iterator[Path]:
    for folder in os.get_exec_path():
        if found := shutil.which(f"python{version}", path=folder):
            yield Path(found)
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for installed in sorted(versions.glob(f"{version}*")):
        yield installed / "bin" / f"python{version}"


class Environment:
    """A virtual environment in `folder`, in which commands run as a user types them.

    `variables` are those of its processes; PATH begins with the environment's programs.
    """

    def __init__(self, python: Python, folder: Path, variables: Mapping[str, str]) -> None:
        subprocess.run([python.path, "-m", "venv", folder], check=True, env=dict(variables))
        self.bin = folder / "bin"
        self.variables = {
            **variables,
            "PATH": f"{self.bin}{os.pathsep}{variables['PATH']}",
            "VIRTUAL_ENV": str(folder),
        }
        (self._site,) = (folder / "lib").glob("python*/site-packages")

    @property
    def bytes(self) -> int:
        """How many bytes the packages take."""
        return sum(path.stat().st_size for path in self._site.rglob("*") if path.is_file())

    def type(self, line: str, *, folder: Path, **more: str) -> Typed:
        """Run a line of a shell in `folder`, with `more` variables."""
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-ec", line], cwd=folder, env={**self.variables, **more}, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        return Typed(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment in which ELF is installed as the README says, and what that took."""

    environment: Environment
    seconds: float
    bytes: int


@dataclass(frozen=True, slots=True)
class Typed:
    """How a line ended, what it printed, and how long it took."""

    code: int
    out: str
    err: str
    seconds: float

    def succeeded(self) -> Typed:
        """Return itself. Fails the test for any other exit code than 0."""
        assert self.code == 0, self.err
        return self
