"""Tests on several processes at a time, as a plugin of pytest: `python -m pytest -p tests.forked_workers --workers 3`.

The tests are collected once, and the process that has done so forks its workers. Collecting takes twenty seconds of
processor time, which each worker of pytest-xdist would spend again. A worker runs the tests of one file, then those of
the next file that no worker has; files are handed out in the order of the collection.

A worker has `workerinput` in its config, as one of pytest-xdist has, so that plugins can tell it from the process that
gathers the reports.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Iterable
from itertools import groupby
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from tempfile import TemporaryFile
from typing import Any, cast

import pytest
from _pytest.capture import CaptureManager

File = list[pytest.Item]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--workers", type=int, default=1, metavar="N", help="run the tests on N processes")


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Hand the files out to workers and report what they report; leave it to pytest if one is enough."""
    options = session.config.option
    if options.workers < 2 or options.collectonly or session.testsfailed:
        return None
    files = [list(tests) for _, tests in groupby(session.items, key=lambda test: test.path)]
    turns = deque(range(len(files)))
    workers: dict[Connection, Worker] = {}
    try:
        while workers or turns:
            while len(workers) < min(options.workers, len(turns)):  # also in place of one that has crashed
                worker = Worker(session, files, workers)
                workers[worker.connection] = worker
            for connection in cast("list[Connection]", wait(list(workers))):
                if not workers[connection].serve(turns):
                    del workers[connection]
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
    finally:
        for worker in workers.values():
            worker.end()
    return True


class Worker:
    """A worker, as the process that gathers the reports sees it."""

    def __init__(self, session: pytest.Session, files: list[File], others: Iterable[Connection]) -> None:
        context = get_context("fork")
        self.connection, theirs = context.Pipe()
        self._config = session.config
        self._process: ForkProcess = context.Process(
            target=_work, args=(session, files, theirs, [self.connection, *others])
        )
        self._process.start()
        theirs.close()
        self._test = "a worker, outside of a test"
        self._has_begun = False
        self._upcoming: int | None = None  # the file that it has been given and not begun

    def serve(self, turns: deque[int]) -> bool:
        """Take one message and act on it; return whether the worker goes on."""
        try:
            name, told = self.connection.recv()
        except (EOFError, ConnectionResetError):
            if self._upcoming is not None:
                turns.appendleft(self._upcoming)
            self.end()
            if self._process.exitcode and not self._has_begun:
                raise RuntimeError(
                    "a worker ended before its first test, and so would any in its place"
                ) from None
            return False
        hook = self._config.hook
        if name == "next":
            self._upcoming = turns.popleft() if turns else None
            self.connection.send(self._upcoming)
        elif name == "logreport":
            report = hook.pytest_report_from_serializable(config=self._config, data=told["report"])
            hook.pytest_runtest_logreport(report=report)
        else:
            self._test, self._has_begun = told["nodeid"], True
            getattr(hook, name)(**told)
        return True

    def end(self) -> None:
        """Wait for the end of the test that it runs, if any, and of the process; report a crash as a failure."""
        self.connection.close()
        self._process.join()
        if code := self._process.exitcode:
            report = pytest.TestReport(
                nodeid=self._test,
                location=(self._test.partition("::")[0], None, self._test),
                keywords={},
                outcome="failed",
                longrepr=f"the worker ended with exit code {code}; this was its last test",
                when="call",
            )
            self._config.hook.pytest_runtest_logreport(report=report)


def _work(
    session: pytest.Session, files: list[File], connection: Connection, others: Iterable[Connection]
) -> None:
    """Run files until there are no more, or nobody is there to tell."""
    for other in others:
        other.close()
    _become_worker(session.config)
    session.config.pluginmanager.register(_Reports(session.config, connection))
    try:
        # A fixture of several files ends only when the next test is known not to need it.
        following = _next_file(connection)
        while following is not None and not session.shouldfail and not session.shouldstop:
            file, following = following, _next_file(connection)
            upcoming = files[following][0] if following is not None else None
            for test, after in zip(files[file], [*files[file][1:], upcoming], strict=True):
                session.config.hook.pytest_runtest_protocol(item=test, nextitem=after)
    except (EOFError, BrokenPipeError, ConnectionResetError, KeyboardInterrupt):
        return  # the run has been ended
    finally:
        session.config.hook.pytest_sessionfinish(session=session, exitstatus=session.exitstatus)


def _next_file(connection: Connection) -> int | None:
    connection.send(("next", {}))
    return cast("int | None", connection.recv())


def _become_worker(config: pytest.Config) -> None:
    vars(config)["workerinput"] = {}
    if config.option.capture == "fd":
        _capture_into_new_files(cast("CaptureManager", config.pluginmanager.getplugin("capturemanager")))
    for plugin in config.pluginmanager.get_plugins():
        if hasattr(plugin, "pytest_runtest_logreport") and hasattr(plugin, "pytest_terminal_summary"):
            config.pluginmanager.unregister(plugin)  # it sums up a run, or writes its report


def _capture_into_new_files(capture: CaptureManager) -> None:
    """Share no position in a file with other workers; whoever holds one of the streams of the collection keeps it."""
    capture.resume_global_capture()
    for descriptor, stream in ((1, sys.stdout), (2, sys.stderr)):
        with TemporaryFile() as file:
            os.dup2(file.fileno(), descriptor)
            os.dup2(file.fileno(), stream.fileno(), inheritable=False)
    capture.suspend_global_capture()


class _Reports:
    """Sends what a worker has to tell to the process that gathers it."""

    def __init__(self, config: pytest.Config, connection: Connection) -> None:
        self._config = config
        self._connection = connection

    def pytest_runtest_logstart(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._connection.send(("pytest_runtest_logstart", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logfinish(self, nodeid: str, location: tuple[str, int | None, str]) -> None:
        self._connection.send(("pytest_runtest_logfinish", {"nodeid": nodeid, "location": location}))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        told: dict[str, Any] = self._config.hook.pytest_report_to_serializable(
            config=self._config, report=report
        )
        self._connection.send(("logreport", {"report": told}))
