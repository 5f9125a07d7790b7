"""Fetches source distributions from the package registry, and what their tests need beside them."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ops.upstream_tests.packages import Package

PINS: Final = Path(__file__).resolve().parents[1] / "constraints-dev.txt"


def version_of(package: Package) -> str:
    """Return the version that is fetched. Raises LookupError for a package that is not pinned."""
    if package.version is not None:
        return package.version
    text = PINS.read_text(encoding="utf-8")
    if pin := re.search(rf"^{re.escape(package.distribution)}==(\S+)", text, re.MULTILINE):
        return pin[1]
    raise LookupError(f"{package.distribution} is not pinned in {PINS.name}")


def fetched(package: Package, folder: Path) -> Path:
    """Return the folder of a package's sources, fetched into `folder` unless they are there."""
    version = version_of(package)
    unpacked = folder / f"{package.distribution.replace('-', '_')}-{version}"
    if not unpacked.is_dir():
        source = f"{package.distribution}=={version}"
        _pip("download", "--no-deps", "--no-binary", ":all:", "--dest", str(folder), source)
        with tarfile.open(folder / f"{unpacked.name}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    return unpacked


def install(needs: Sequence[str], folder: Path) -> Path:
    """Return a folder with packages that tests import, installed without others."""
    target = folder / "needs" / "-".join(re.sub(r"\W+", "_", need) for need in needs)
    if needs and not target.is_dir():
        _pip("install", "--no-deps", "--target", str(target), *needs)
    return target


def _pip(*arguments: str) -> None:
    done = subprocess.run([sys.executable, "-m", "pip", *arguments, "-q"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip {' '.join(arguments)}: {done.stderr.strip()}")
