"""Every test is run once and reported, by whichever worker, whatever becomes of the worker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

REPO = Path(__file__).resolve().parents[2]
CONFTEST = """
import os
import pytest

@pytest.fixture(scope="session")
def worker():
    yield os.getpid()
    with open("ended", "a") as file:
        print("a worker's fixture has ended", file=file)
"""
PASSING = """
import os
import pytest

@pytest.mark.parametrize("number", range(20))
def test_one(worker, number):
    print("printed by", __name__)
    assert os.getpid() == worker != {parent}
"""
FAILING = """
def test_the_first():
    print("what it prints")
    assert 1 == 2

def test_the_second():
    pass
"""
CRASHING = """
import os

def test_that_crashes():
    os._exit(3)
"""


def run(folder: Path, *options: str, **files: str) -> tuple[str, Counter[str]]:
    """Run these files on two workers; return what is printed, and how many tests came to what."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST)
    for name, text in files.items():
        (folder / f"test_{name}.py").write_text(text)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "tests.forked_workers",
        "--workers",
        "2",
        "--junitxml=report",
    ]
    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(
        [*command, *options], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    cases = [*ElementTree.parse(folder / "report").iter("testcase")]
    counts = Counter("failed" if len(case) else "passed" for case in cases)
    assert (done.returncode == 0) == (counts["failed"] == 0), done.stdout
    return done.stdout, counts


def test_all_pass_on_the_workers_and_the_fixtures_of_each_end(tmp_path: Path) -> None:
    passing = PASSING.replace("{parent}", str(os.getpid()))
    printed, counts = run(tmp_path, "-q", a=passing, b=passing, c=passing)
    assert counts == {"passed": 60}
    assert "60 passed" in printed
    assert "printed by" not in printed
    assert (tmp_path / "ended").read_text().count("ended") == 2


def test_a_failure_is_told_with_what_the_test_printed(tmp_path: Path) -> None:
    printed, counts = run(tmp_path, a=FAILING, b=FAILING)
    assert counts == {"passed": 2, "failed": 2}
    assert printed.count("Captured stdout call") == 2


def test_a_worker_that_ends_fails_its_test_and_the_other_runs_the_rest(tmp_path: Path) -> None:
    printed, counts = run(tmp_path, a=CRASHING, b=FAILING, c=FAILING, d=FAILING)
    assert counts == {"passed": 3, "failed": 4}
    assert "the worker ended with exit code 3" in printed


def test_a_run_that_is_to_end_with_the_first_failure_does(tmp_path: Path) -> None:
    printed, counts = run(tmp_path, "-x", a=FAILING, **{f"b{number}": FAILING for number in range(50)})
    assert "stopping after 1 failures" in printed
    assert counts.total() < 100


def test_workers_that_cannot_begin_end_the_run(tmp_path: Path) -> None:
    ending = "import os\nos.register_at_fork(after_in_child=lambda: os._exit(4))\n"
    printed, counts = run(tmp_path, a=ending + FAILING, b=FAILING)
    assert "a worker ended before its first test" in printed
    assert counts["passed"] == 0
