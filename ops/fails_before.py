#!/usr/bin/env python3
"""Run tests of today against the code of a commit before: which of them fail there?

    python -m ops.fails_before COMMIT TEST...

Makes a clone of this repo at COMMIT in a folder of its own, puts the tests and ops/chaos of this checkout in it, and
runs each TEST there, a file or a node id of pytest, with the packages that are installed here. Prints a line for each
test: that it fails there, and how, or that it passes. Exits with 1 when none of a TEST fails, for then it proves
nothing about what was mended since.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple
from xml.etree import ElementTree

REPO: Final = Path(__file__).resolve().parents[1]
TAKEN_ALONG: Final = ("tests", "ops/chaos")
LONGEST_S: Final = 550.0
MAX_REASON_CHARS: Final = 110


class Outcome(NamedTuple):
    """What came of a test: `reason` is why it failed, None where it did not."""

    name: str
    reason: str | None


def clone_at(commit: str, folder: Path) -> None:
    """Make the clone, with the tests of this checkout. Raises CalledProcessError when there is no such commit."""
    for arguments in (["clone", "-q", str(REPO), str(folder)], ["-C", str(folder), "checkout", "-q", commit]):
        subprocess.run(["git", *arguments], check=True)
    for path in TAKEN_ALONG:
        shutil.rmtree(folder / path, ignore_errors=True)
        shutil.copytree(REPO / path, folder / path, ignore=shutil.ignore_patterns("__pycache__"))


def run_there(folder: Path, test: str) -> list[Outcome]:
    """Run a file or a test there; what has not ended in time, and with it the rest, counts as one failure."""
    report = folder / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", test]
    there = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        told, _ = there.communicate(timeout=LONGEST_S)
    except subprocess.TimeoutExpired:
        return [Outcome(test, f"did not end within {LONGEST_S:.0f} s")]
    finally:
        with suppress(ProcessLookupError):  # what it has started, and left where it could not end
            os.killpg(there.pid, signal.SIGKILL)
    if not report.exists():
        return [Outcome(test, _short(told.strip().rpartition("\n")[2]))]
    return [*_read(report)]


def _read(report: Path) -> Iterator[Outcome]:
    reasons: dict[str, str | None] = defaultdict(lambda: None)
    for case in ElementTree.parse(report).iter("testcase"):
        name = case.get("name", "")
        reasons[name] = reasons[name]
        for bad in (*case.iterfind("failure"), *case.iterfind("error")):
            reasons[name] = reasons[name] or _reason(bad)
    return (Outcome(name, reason) for name, reason in reasons.items())


def _reason(bad: ElementTree.Element) -> str:
    if bad.get("message") == "collection failure":  # its last line tells what cannot be imported
        return _short((bad.text or "").strip().rpartition("\n")[2].removeprefix("E").strip())
    return _short(bad.get("message", ""))


def _short(reason: str) -> str:
    first = reason.strip().partition("\n")[0]
    return first if len(first) <= MAX_REASON_CHARS else first[: MAX_REASON_CHARS - 3] + "..."


def report(outcomes: Sequence[Outcome]) -> bool:
    """Print what came of the tests; return whether one of them fails."""
    for name, reason in outcomes:
        print(
            f"  {'passes' if reason is None else 'FAILS '}  {name}{'' if reason is None else f': {reason}'}",
            flush=True,
        )
    return any(reason is not None for _, reason in outcomes)


def main() -> int:
    """Run, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit")
    parser.add_argument("tests", nargs="+", metavar="TEST")
    options = parser.parse_args()
    proves_nothing = []
    with tempfile.TemporaryDirectory(prefix="elf-before-") as name:
        folder = Path(name) / "repo"
        clone_at(options.commit, folder)
        for test in options.tests:
            print(test, flush=True)
            if not report(run_there(folder, test)):
                proves_nothing.append(test)
    for test in proves_nothing:
        print(f"nothing of {test} fails at {options.commit}")
    return 1 if proves_nothing else 0


if __name__ == "__main__":
    sys.exit(main())
