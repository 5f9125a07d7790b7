"""A checkout of one's own, with a finished `.venv`: what `git clone` and the set-up of `ops/up` leave."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

from tests.system.service import REPO

FOLDERS = ("elf", "actors", "sql", "ops")
FILES = ("pyproject.toml", "elf.example.toml", "README.md")
SCRIPT = "#!{python}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"


def make_checkout(folder: Path) -> Path:
    """Copy the project into a folder that does not exist, with an environment that takes its packages from here."""
    folder.mkdir()
    for name in FOLDERS:
        shutil.copytree(REPO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(REPO / name, folder)
    python = _make_environment(folder)
    # As ops/setup.sh does when all is installed, so that it installs nothing.
    subprocess.run([python, "-I", "-S", folder / "ops" / "stamp.py", "write", folder, "run"], check=True)
    return folder


def _make_environment(folder: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / ".venv"], check=True)
    (site,) = (folder / ".venv" / "lib").glob("python*/site-packages")
    packages = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site / "elf.pth").write_text(
        "\n".join([str(folder), *packages]) + "\n"
    )  # the first has the project itself
    bin_folder = folder / ".venv" / "bin"
    python = bin_folder / "python"
    scripts = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    for name, place in scripts.items():
        module, _, function = place.partition(":")
        script = bin_folder / name
        script.write_text(SCRIPT.format(python=python, module=module, function=function))
        script.chmod(0o755)
    return python


def newcomer(home: Path) -> dict[str, str]:
    """The environment of somebody whose home is empty."""
    home.mkdir()
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "TERM": "xterm"}
