"""Build the wheel, unpack it and prove that the package in it finds its data files. Needs no network."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent


def build(folder: Path) -> Path:
    """Build the wheel into a folder with the build backend of the current environment."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(command, check=True, cwd=REPO, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    return wheel


def missing_files(wheel: Path) -> list[str]:
    """List the files of the repository that belong into the wheel and are not in it."""
    held = set(zipfile.ZipFile(wheel).namelist())
    wanted = {f"elf/{path.relative_to(REPO)}" for path in REPO.glob("sql/**/*.sql")}
    wanted |= {"elf/elf.example.toml", "elf/py.typed"}
    wanted |= {
        str(path.relative_to(REPO))
        for root in ("elf", "actors")
        for kind in ("py", "pyi", "proto", "css")
        for path in REPO.glob(f"{root}/**/*.{kind}")
    }
    return sorted(wanted - held)


def found_by(wheel: Path, folder: Path) -> list[Path]:
    """Unpack the wheel and return the data files that the package in it finds, this repository unseen."""
    zipfile.ZipFile(wheel).extractall(folder)
    code = """
import sys
sys.path.insert(0, sys.argv[1])
from elf.config.example import example_file
from elf.db.queries import sql_folder
print(sql_folder() / "init.sql", example_file(), sep="\\n")
"""
    command = [sys.executable, "-I", "-c", code, folder]
    found = subprocess.run(command, check=True, text=True, capture_output=True, cwd=folder).stdout
    return [Path(line) for line in found.splitlines()]


def main() -> int:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheel = build(folder)
        if missing := missing_files(wheel):
            print(f"{wheel.name} lacks {', '.join(missing)}")
            return 1
        unpacked = folder / "unpacked"
        unpacked.mkdir()
        for found in found_by(wheel, unpacked):
            if not found.is_relative_to(unpacked) or not found.is_file():
                print(f"the package in {wheel.name} looks for {found.name} in {found.parent}")
                return 1
        print(f"{wheel.name} holds every module and data file, and finds them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
