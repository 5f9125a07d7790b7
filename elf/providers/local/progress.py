"""Reports the fetch of a model: a bar where standard error is a terminal, else lines.

A command writes plain lines to standard error, at the start, about every 25 MB and at the end. A program that embeds
the service writes one line to its log. Nothing goes to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, Protocol

import structlog

from elf.core.log_text import SENTENCES
from elf.providers.local.catalog import ModelSpec

LINE_EVERY_BYTES: Final = 25_000_000

ShowBytes = Callable[[int], None]
"""Takes how many bytes of the download are there, those of an earlier, interrupted one included."""

_log = structlog.get_logger()


class FetchReport(Protocol):
    """What a fetch reports to."""

    def wait(self, model: ModelSpec) -> None:
        """Report that another process is fetching or building the model, and that this one waits for it."""

    def replace(self, model: ModelSpec, folder: Path) -> None:
        """Report that the files in this folder are damaged, and will be fetched again."""

    def download(self, model: ModelSpec, folder: Path) -> AbstractContextManager[ShowBytes]:
        """Report a download into `folder` while the block runs."""
        ...


class CommandReport:
    """Reports to the person or the script that runs a command."""

    def wait(self, model: ModelSpec) -> None:
        self._say("model_fetch_awaited", model=model.name)

    def replace(self, model: ModelSpec, folder: Path) -> None:
        self._say("model_files_damaged", model=model.name, folder=folder)

    @contextmanager
    def download(self, model: ModelSpec, folder: Path) -> Iterator[ShowBytes]:
        if sys.stderr.isatty():
            with _bar(model) as show:
                yield show
            return
        megabytes = _megabytes(model.source.size)
        self._say("model_fetch_started", model=model.name, megabytes=megabytes)
        told = 0

        def tell(received: int) -> None:
            nonlocal told
            if received // LINE_EVERY_BYTES > told:
                told = received // LINE_EVERY_BYTES
                self._say("model_fetch_progressed", done=_megabytes(received), megabytes=megabytes)

        yield tell
        self._say("model_fetched", model=model.name, folder=folder)

    def _say(self, event: str, **fields: object) -> None:
        sys.stderr.write(f"elf: {SENTENCES[event].format(**fields)}\n")
        sys.stderr.flush()


class LogReport:
    """Reports to the log of a process or of a program that embeds the service."""

    def wait(self, model: ModelSpec) -> None:
        _log.info("model_fetch_awaited", model=model.name)

    def replace(self, model: ModelSpec, folder: Path) -> None:
        _log.warning("model_files_damaged", model=model.name, folder=str(folder))

    @contextmanager
    def download(self, model: ModelSpec, folder: Path) -> Iterator[ShowBytes]:
        if sys.stderr.isatty():
            with _bar(model) as show:
                yield show
            return
        size = _megabytes(model.source.size)
        _log.info("model_fetch_started", model=model.name, megabytes=size, folder=str(folder))
        yield _show_nothing


def _megabytes(count: int) -> int:
    return round(count / 1e6)


def _show_nothing(_received: int) -> None:
    return


@contextmanager
def _bar(model: ModelSpec) -> Iterator[ShowBytes]:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    class VisibleCursor(Console):
        """Never hides the cursor, which a process that is killed could not give back."""

        def show_cursor(self, show: bool = True) -> bool:
            return show

    # The terminal's own colors: rich's are made for a dark background.
    bar = BarColumn(style="bright_black", complete_style="green", finished_style="green", pulse_style="green")
    columns = (TextColumn("{task.description}"), bar, DownloadColumn(), TimeRemainingColumn())
    console = VisibleCursor(stderr=True, highlight=False, markup=False, emoji=False)
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(f"Fetching the model {model.name}", total=model.source.size)
        yield lambda received: progress.update(task, completed=received)
