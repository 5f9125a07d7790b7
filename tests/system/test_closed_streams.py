"""Commands that are started with standard input, output or error closed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.system.service import REPO, write_config

INHERITED = """
import os, subprocess, sys
from elf import cli, commands

def main():
    print("said", file=sys.stderr)
    opened = open(os.devnull)
    assert opened.fileno() > 2, "a file got the descriptor of a standard stream"
    subprocess.run([sys.executable, "-c", "import os; [os.fstat(fd) for fd in range(3)]"], check=True)
    return 7

cli.main = main
sys.exit(commands.elf())
"""


def run_closed(*command: str) -> int:
    """Run a command whose standard streams are all closed, and return its exit code."""
    shell = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command]
    return subprocess.run(shell, cwd=REPO, check=False, timeout=60).returncode


def test_a_command_works_with_all_of_them_closed(tmp_path: Path) -> None:
    config = str(write_config(tmp_path))
    assert run_closed(sys.executable, "-m", "elf", "check", "-c", config) == 0
    assert run_closed(sys.executable, "-m", "elf", "check", "-c", str(tmp_path / "none")) == 2


def test_no_other_file_gets_their_descriptors_here_or_in_a_child() -> None:
    assert run_closed(sys.executable, "-c", INHERITED) == 7
