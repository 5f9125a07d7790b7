"""Set-up as ops/up does it: what it says of its progress, and what Ctrl-C leaves of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.system.service import REPO, processes_of
from tests.system.terminal import Terminal

pytestmark = pytest.mark.slow

PIP_SAYS = """\
Collecting numpy==2.1
  Downloading numpy-2.1-cp311-cp311-manylinux.whl.metadata (62 kB)
  Downloading numpy-2.1-cp311-cp311-manylinux.whl (16.1 MB)
  Using cached onnx-1.20-cp311-abi3.whl (17.5 MB)
  Downloading h11-0.16-py3-none-any.whl (37 kB)
Installing collected packages: h11, numpy, onnx
"""


@pytest.fixture
def clone() -> Iterator[Path]:
    """A copy of what set-up reads of the repository."""
    with fresh_folder() as folder:
        for name in ("pyproject.toml", "ops/up", "ops/setup.sh", "ops/stamp.py", "ops/constraints.txt"):
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copy(REPO / name, folder / name)
        yield folder


@pytest.mark.parametrize("presses", [1, 2])
def test_ctrl_c_ends_the_set_up_in_a_line_with_all_that_it_has_begun(clone: Path, presses: int) -> None:
    with Terminal(["ops/up"], folder=clone) as terminal:
        terminal.wait_for("elf: making .venv")
        for _ in range(presses):
            terminal.interrupt()
        assert terminal.wait_exit() == 130
        assert "elf: interrupted; the next run takes it up again" in terminal.lines
        assert "Traceback" not in terminal.text
    assert processes_of(clone) == []
    assert not (clone / ".venv" / ".stamp.json").exists()


def test_the_progress_of_pip_is_told_in_plain_lines_when_nobody_watches() -> None:
    result = subprocess.run(
        ["bash", "-c", ". ops/setup.sh; tell_progress"],
        cwd=REPO, input=PIP_SAYS, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert result.stderr.splitlines() == ["elf: fetched 33 MB of about 130", "elf: laying out 3 packages"]


def test_at_a_terminal_each_package_is_shown_as_it_comes() -> None:
    with Terminal(["bash", "-c", f". ops/setup.sh; tell_progress <<<'{PIP_SAYS}'"], folder=REPO) as terminal:
        assert terminal.wait_exit() == 0
        assert terminal.lines == [
            "elf: fetching numpy: 16 MB of about 130",
            "elf: fetching onnx: 33 MB of about 130",
            "elf: fetching h11: 33 MB of about 130",
            "elf: laying out 3 packages",
        ]
