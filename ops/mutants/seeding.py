"""Seeds bugs, one at a time, and looks which of them the test suite detects."""

from __future__ import annotations

import os
import subprocess
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from ops.mutants.suite import Run, run_suite, work_folder

BUGS: Final = Path(__file__).with_name("bugs.toml")
FIRST_FILES: Final = 4
"""So many test files run first; each time that all pass, twice as many follow."""
FILE_COST_S: Final = 0.5  # of a test file besides its tests

Outcome = Literal["detected", "survived", "out of time", "not run"]


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A seeded bug: see bugs.toml."""

    id: str
    module: str
    kind: str
    old: str
    new: str
    effect: str


class Verdict(NamedTuple):
    """What became of a mutant. `test` detects it; `files` of the `listed` test files that cover the module ran."""

    id: str
    module: str
    kind: str
    outcome: Outcome
    test: str | None
    seconds: float
    files: int
    listed: int


def mutants() -> list[Mutant]:
    """Read the list of mutants."""
    return [Mutant(**one) for one in tomllib.loads(BUGS.read_text(encoding="utf-8"))["mutants"]]


def refuse_unfit(repo: Path, chosen: Sequence[Mutant]) -> None:
    """Exit when the text of a mutant is not there exactly once, or a module is modified in git."""
    for one in chosen:
        if (times := (repo / one.module).read_text(encoding="utf-8").count(one.old)) != 1:
            raise SystemExit(f"{one.id}: its text occurs {times} times in {one.module}")
    command = ["git", "-C", str(repo), "status", "--porcelain", "--", *(one.module for one in chosen)]
    if modified := subprocess.run(command, check=True, capture_output=True, text=True).stdout:
        raise SystemExit(f"modified in git:\n{modified.rstrip()}")


def files_for(repo: Path, module: str, made: Mapping[str, Any]) -> list[str]:
    """Return the test files that cover a module, those first that cover most of it per second."""
    lines: Mapping[str, int] = made["modules"].get(module, {})
    durations: Mapping[str, float] = made["durations"]

    def rate(file: str) -> float:
        shared: float = sum(one["seconds"] for one in made["fixtures"].values() if file in one["files"])
        return lines[file] / (durations.get(file, 0.0) + shared + FILE_COST_S)

    return sorted((file for file in lines if (repo / file).is_file()), key=lambda file: (-rate(file), file))


def judge(repo: Path, mutant: Mutant, files: Sequence[str], *, budget_s: float) -> Verdict:
    """Run test files with a mutant in place until a test fails, or the time is up.

    A test that fails without the mutant, too, detects nothing, and is left out from then on. To find that out is not
    part of the time.
    """
    left_s, ran, skipped = budget_s, 0, list[str]()
    outcome: Outcome = "survived"
    test: str | None = None
    while outcome == "survived" and ran < len(files):
        some = files[ran : 2 * ran + FIRST_FILES]
        began = time.monotonic()
        with applied(repo / mutant.module, mutant):
            run = _run(repo, some, skipped, budget_s=budget_s, limit_s=left_s)
        left_s -= time.monotonic() - began
        failed = next((one for one in run.failed if one not in skipped), None)
        if failed is not None and _fails_without(repo, failed, budget_s):
            skipped.append(failed)
        elif failed is not None:
            outcome, test = "detected", failed
        elif run.code is None:
            outcome = "out of time"
        elif run.code in (0, 5):  # 5: all of the tests are left out
            ran += len(some)
        else:
            outcome, test = "not run", f"pytest ends with {run.code}"
    return Verdict(
        id=mutant.id, module=mutant.module, kind=mutant.kind, outcome=outcome, test=test,
        seconds=round(budget_s - left_s, 1), files=ran, listed=len(files),
    )  # fmt: skip


@contextmanager
def applied(path: Path, mutant: Mutant, *, _later: Iterator[int] = count(1)) -> Iterator[None]:  # noqa: B008
    """Put a mutant into its module, and take it out again whatever happens.

    Python trusts a .pyc file by the size of its source and the second at which that was changed. So each mutant is as
    if changed at another second, and the original at the second at which it was.
    """
    original, was = path.read_bytes(), path.stat()
    changed_at = int(max(time.time(), was.st_mtime)) + next(_later)
    try:
        path.write_bytes(original.replace(mutant.old.encode(), mutant.new.encode()))
        os.utime(path, (changed_at, changed_at))
        yield
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(was.st_atime_ns, was.st_mtime_ns))


def _run(repo: Path, tests: Sequence[str], skipped: Sequence[str], *, budget_s: float, limit_s: float) -> Run:
    # A test that hangs has to fail while there is time left. It has the same time with and without a mutant.
    options = ["-x", f"--timeout={budget_s / 2:g}", *(f"--deselect={id}" for id in skipped)]
    with work_folder() as folder:
        return run_suite(repo, folder, [*options, *tests], limit_s=max(limit_s, 0.0), is_quiet=True)


def _fails_without(repo: Path, test: str, budget_s: float) -> bool:
    """Tell whether a test fails, or does not end, without any mutant."""
    return _run(repo, [test], (), budget_s=budget_s, limit_s=budget_s).code != 0
