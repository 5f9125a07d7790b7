"""Records a run of a test suite, as a pytest plugin: what failed, what took how long, and which file covers what.

It works in each process that runs tests, and writes into the folder that MUTANTS_FOLDER names. It runs in another
checkout's environment, so it imports nothing of this one.

When coverage.py measures this process (see `coverage_map`), each test file gets a context of its own. So does each
fixture that several files share, such as a running service. The environment variable MUTANTS_CONTEXT hands the context
to the processes that a test starts.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from coverage import Coverage

FOLDER = Path(os.environ["MUTANTS_FOLDER"])
CONTEXT = "MUTANTS_CONTEXT"

_gathers_reports = True  # false in a worker of pytest-xdist
_seconds_of_files: defaultdict[str, float] = defaultdict(float)
_files_of_fixtures: defaultdict[str, set[str]] = defaultdict(set)
_seconds_of_fixtures: dict[str, float] = {}


def pytest_configure(config: pytest.Config) -> None:
    global _gathers_reports
    _gathers_reports = not hasattr(config, "workerinput")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    file = item.nodeid.partition("::")[0]
    _enter(file)
    for name in getattr(item, "fixturenames", ()):
        _files_of_fixtures[name].add(file)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    if fixturedef.scope not in ("package", "session"):
        return (yield)
    name, began = fixturedef.argname, time.perf_counter()
    file = _enter(f"fixture:{name}")
    _files_of_fixtures[name].add(file)  # also one that asks for it while it runs
    try:
        return (yield)
    finally:
        _seconds_of_fixtures[name] = time.perf_counter() - began
        _enter(file)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if _gathers_reports:
        _seconds_of_files[report.nodeid.partition("::")[0]] += report.duration
        _note_failure(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if _gathers_reports:
        _note_failure(report)


def pytest_sessionfinish() -> None:
    fixtures = {
        name: {"seconds": seconds, "files": sorted(_files_of_fixtures[name])}
        for name, seconds in _seconds_of_fixtures.items()
    }
    recorded = {"durations": _seconds_of_files, "fixtures": fixtures}
    (FOLDER / f"recorded.{os.getpid()}.json").write_text(json.dumps(recorded))


def _enter(context: str) -> str:
    """Give a context to what runs from now on, here and in new processes; return the context before."""
    before = os.environ.get(CONTEXT, "")
    if context != before:
        os.environ[CONTEXT] = context
        if (measuring := Coverage.current()) is not None:
            measuring.switch_context(context)
    return before


def _note_failure(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Write a failure down at once: the run may be ended before it is over."""
    if report.failed:
        with (FOLDER / "failed").open("a") as file:
            print(json.dumps(report.nodeid), file=file)
