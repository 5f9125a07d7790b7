"""A plugin of pytest that puts ELF in the place of what a package's tests are about, and tells what came of it.

It runs in a process of its own, within the package's sources. ELF_UPSTREAM_SWAP names the module of ops.upstream_tests
that swaps; ELF_UPSTREAM_REPORT is the file that is told into.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Protocol, cast

import pytest

from ops.upstream_tests import standing_in

BESIDE: Final = "it makes nothing that ELF stands in for"


class Swap(Protocol):
    """What a module of ops.upstream_tests.swaps has.

    `NOT_APPLICABLE` gives expressions that find the tests which are of something else, with what they are of.
    """

    NOT_APPLICABLE: Mapping[str, str]

    def swap(self) -> None:
        """Put ELF in its place, before any test is imported."""

    def swap_in(self, module: Any) -> None:
        """Put ELF in its place in a module of tests."""

    def fixture(self, name: str, request: pytest.FixtureRequest) -> Any:
        """Return what a fixture gives instead of its own; None to leave it as it is."""


class Backend:
    """Runs async tests on asyncio; registered after anyio's own plugin, whose choice it takes the place of."""

    @pytest.fixture(scope="module")
    def anyio_backend(self) -> str:
        return "asyncio"


def pytest_configure(config: pytest.Config) -> None:
    swap = cast("Swap", import_module(f"ops.upstream_tests.swaps.{os.environ['ELF_UPSTREAM_SWAP']}"))
    swap.swap()
    config.pluginmanager.register(swap)  # for its fixtures
    config.pluginmanager.register(Backend())
    config.pluginmanager.register(Swapping(swap, Path(os.environ["ELF_UPSTREAM_REPORT"])))


class Swapping:
    """Swaps, leaves out what is of something else, and counts."""

    def __init__(self, swap: Swap, report: Path) -> None:
        self._swap = swap
        self._report = report
        self._outcomes: dict[str, str] = {}
        self._other: Counter[str] = Counter()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        kept = []
        for item in items:
            why = next(
                (why for one, why in self._swap.NOT_APPLICABLE.items() if re.search(one, item.nodeid)), None
            )
            if why is None:
                kept.append(item)
            else:
                self._other[why] += 1
        items[:] = kept

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest) -> Any:
        given = self._swap.fixture(fixturedef.argname, request)
        if given is not None:
            fixturedef.cached_result = (given, fixturedef.cache_key(request), None)  # type: ignore[arg-type]
        return given

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        standing_in.begin()
        module = getattr(item, "module", None)
        self._swap.swap_in(module)
        try:
            return (yield)
        finally:
            standing_in.end()
            if self._outcomes.get(item.nodeid) == "passed" and not standing_in.is_used():
                del self._outcomes[item.nodeid]
                self._other[BESIDE] += 1

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed or (report.when == "call" and self._outcomes.get(report.nodeid) != "failed"):
            self._outcomes[report.nodeid] = "failed" if report.failed else report.outcome
        elif report.skipped:
            self._outcomes[report.nodeid] = "skipped"

    def pytest_sessionfinish(self) -> None:
        told = {"outcomes": self._outcomes, "not_applicable": self._other}
        self._report.write_text(json.dumps(told), encoding="utf-8")
