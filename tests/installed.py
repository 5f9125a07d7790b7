"""The wheel, installed as `pip install elf-memory` does it: with what it depends on by itself, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPO = Path(__file__).resolve().parent.parent


class Installed:
    """A virtual environment with the base install. Its packages are links to those of this environment."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
        self.python = folder / "venv" / "bin" / "python"
        (site,) = (folder / "venv" / "lib").glob("python*/site-packages")
        wheel = _build(folder)
        zipfile.ZipFile(wheel).extractall(site)
        (metadata,) = site.glob("elf_memory-*.dist-info/METADATA")
        for name in _base(metadata.read_text(encoding="utf-8")):
            _link(name, site)

    def run(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run its Python, in a folder where nothing of this repository is found."""
        command = [self.python, "-I", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self.python.parent, timeout=120
        )


def _build(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, check=True, cwd=REPO, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _base(metadata: str) -> set[str]:
    """List the packages that a plain install needs, by way of what is installed here."""
    waiting = [
        line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist: ")
    ]
    found: set[str] = set()
    while waiting:
        asks = Requirement(waiting.pop())
        name = canonicalize_name(asks.name)
        if name in found or (asks.marker is not None and not asks.marker.evaluate({"extra": ""})):
            continue
        found.add(name)
        waiting += distribution(name).requires or ()
    return found


def _link(name: str, site: Path) -> None:
    files = distribution(name).files or []
    for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
        (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
