"""Line coverage of the processes that run tests, as a plugin of pytest: `PYTEST_PLUGINS=tests.measuring pytest`.

`coverage run` would measure the process that it starts, while the tests run in its forks (`tests.forked_workers`); and
its way into all processes (`patch = subprocess`) would slow down the services under test. Each process writes a file of
its own: `coverage combine` puts them together.

Whatever Python does takes half as long again while it is measured. So only those tests are that are to cover what is
measured by themselves: a line that is run by chance on the way through a service is not tested by that.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from pathlib import Path
from typing import Final

import pytest
from coverage import Coverage

MEASURED: Final = pytest.StashKey[Coverage]()
TESTS: Final = Path(__file__).parent
BY_THEMSELVES: Final = [TESTS / name for name in ("actors", "kernel", "unit")]
# Unit tests that take long, and cover nothing of it that others do not.
OF_OTHERS: Final = [TESTS / "unit" / name for name in ("cli", "index", "graph", "knowledge", "providers")]


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Begin before the conftests import what is measured."""
    early_config.stash[MEASURED] = measured = Coverage(data_suffix=True)
    measured.start()
    yield


def pytest_collection_finish(session: pytest.Session) -> None:
    """Everything is imported."""
    session.config.stash[MEASURED].stop()


def _within(path: Path, folders: Iterable[Path]) -> bool:
    return any(path.is_relative_to(folder) for folder in folders)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    measured = item.config.stash[MEASURED]
    if not _within(item.path, BY_THEMSELVES) or _within(item.path, OF_OTHERS):
        return (yield)
    measured.start()
    try:
        return (yield)
    finally:
        measured.stop()


def pytest_sessionfinish(session: pytest.Session) -> None:
    measured = session.config.stash[MEASURED]
    measured.stop()
    measured.save()
