"""Where the time of a run of the tests goes, as a plugin of pytest: each folder, and the slowest tests.

    python -m pytest -p tests.durations

A test's time is that of its set-up, its call and its tear-down; what a fixture of many tests takes is in the first and
the last of them. Folders are summed over all workers, so that together they take longer than the run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from operator import itemgetter
from typing import Final

import pytest

SLOWEST: Final = 20
DEPTH: Final = 2  # tests/unit/store counts as tests/unit, tests/db/store by itself
DEEPER: Final = frozenset({"tests/db"})


class Durations:
    """Collects the reports of all workers in the process that the run was started in."""

    def __init__(self) -> None:
        self.by_test: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.by_test[report.nodeid] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders: dict[str, float] = defaultdict(float)
        counts: Counter[str] = Counter()
        for test, seconds in self.by_test.items():
            folders[folder_of(test)] += seconds
            counts[folder_of(test)] += 1
        terminalreporter.section("time of each folder, in seconds over all workers")
        for folder, seconds in sorted(folders.items(), key=itemgetter(1), reverse=True):
            terminalreporter.write_line(f"{seconds:8.1f}  {counts[folder]:6} tests  {folder}")
        terminalreporter.section(f"the {SLOWEST} slowest tests, in seconds")
        for test, seconds in sorted(self.by_test.items(), key=itemgetter(1), reverse=True)[:SLOWEST]:
            terminalreporter.write_line(f"{seconds:8.1f}  {test}")


def folder_of(test: str) -> str:
    """Return the folder that a test is counted in."""
    parts = test.partition("::")[0].split("/")[:-1]
    return "/".join(parts[: DEPTH + ("/".join(parts[:DEPTH]) in DEEPER)])


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(), "durations")
