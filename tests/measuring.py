"""Line coverage of the processes that run tests, as a plugin of pytest: `PYTEST_PLUGINS=tests.measuring pytest -n 2`.

`coverage run` would measure the process that it starts, while the tests run in others that pytest-xdist starts; and its
way into all processes (`patch = subprocess`) would slow down the services under test. Each process writes a file of its
own: `coverage combine` puts them together.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest
from coverage import Coverage

MEASURED = pytest.StashKey[Coverage]()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    """Begin before the conftests import what is measured."""
    early_config.stash[MEASURED] = measured = Coverage(data_suffix=True)
    measured.start()
    yield


def pytest_unconfigure(config: pytest.Config) -> None:
    measured = config.stash[MEASURED]
    measured.stop()
    measured.save()
