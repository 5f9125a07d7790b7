"""How a container starts, as a program: with a config of its own, with one that is mounted, or as it is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from deployed import OPS

from elf.config import load
from elf.core.api_key import hash_of

START = ("elf", "up", "-c", "/etc/elf/elf.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The volume, beside a command `elf` that is the real one, but for `up`, of which it says what it was told."""
    programs = tmp_path / "bin"
    programs.mkdir()
    elf = programs / "elf"
    elf.write_text(f'#!/bin/sh\n[ "$1" = up ] && echo "runs $*" && exit\nexec {sys.executable} -m elf "$@"\n')
    elf.chmod(0o755)
    volume = tmp_path / "volume"
    volume.mkdir()
    return volume


def started(folder: Path, *command: str) -> list[str]:
    """Start a container with this volume, and return the lines that it prints."""
    environment = os.environ | {
        "ELF_FOLDER": str(folder),
        "PATH": f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
    }
    ended = subprocess.run(
        ["sh", str(OPS / "container.sh"), *command],
        env=environment, cwd=OPS.parent, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ended.stdout.splitlines()


@pytest.mark.skipif(Path("/etc/elf/elf.toml").exists(), reason="a config is installed on this machine")
def test_the_first_start_prints_a_key_and_later_ones_do_not(folder: Path) -> None:
    own = folder / "elf.toml"
    first = started(folder, *START)
    assert first[-1] == f"runs up -c {own}"
    auth = load(own).security.auth
    assert (auth.mode, [key.hash for key in auth.keys]) == ("required", [hash_of(first[0])])
    assert started(folder, *START) == [f"runs up -c {own}"]
    assert load(own).security.auth == auth


def test_another_command_runs_as_it_is(folder: Path) -> None:
    assert started(folder, "elf", "up", "-c", "mine.toml") == ["runs up -c mine.toml"]
    assert list(folder.iterdir()) == []
