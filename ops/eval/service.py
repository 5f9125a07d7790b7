"""The service that is evaluated: a running one, or `elf up` of this or another checkout, started for the evaluation."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from elf.client import Client
from elf.client.call import get, reader
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

TIMEOUT_S = 60.0
LOOK_EVERY_S = 0.2


class Overview(Struct, frozen=True):
    """What is read of the overview of the admin endpoints."""

    waiting_jobs: int
    failed_jobs: int


@dataclass(frozen=True)
class Service:
    """Clients of the API and of the admin endpoints of one service."""

    api: Client
    admin: Client

    def wait_until_indexed(self, patience_s: float) -> None:
        """Wait until no indexing job is left. Raises SystemExit when none was done for `patience_s` seconds."""
        least, deadline = None, 0.0
        while (overview := self._overview()).waiting_jobs:
            if least is None or overview.waiting_jobs < least:
                least, deadline = overview.waiting_jobs, time.monotonic() + patience_s
            if time.monotonic() > deadline:
                raise SystemExit(
                    f"{overview.waiting_jobs} notes still wait to be indexed, {overview.failed_jobs} of them after a "
                    f"failure, and none was indexed in the last {patience_s:.0f} s"
                )
            time.sleep(LOOK_EVERY_S)

    def _overview(self) -> Overview:
        return self.admin.send(get("/v1/admin/overview", {}, reader(Overview)))


@contextmanager
def service_of(options: argparse.Namespace, *, note_chars: int) -> Iterator[Service]:
    """Reach the service at `options.url`, or start one with the config `options.local` for the block."""
    with ExitStack() as stack:
        url, admin_url = options.url, options.admin_url
        if options.local is not None:
            running = stack.enter_context(started(options.local, options.elf, note_chars=note_chars))
            url, admin_url = running.url, running.admin_url
        api = stack.enter_context(Client(url, timeout_s=TIMEOUT_S))
        yield Service(api, stack.enter_context(Client(admin_url)))


@contextmanager
def started(
    config: Path, elf: Path | None, *, note_chars: int, tables: str = "", **changes: str
) -> Iterator[RunningService]:
    """Run `elf up` in a new folder with a copy of a config, on free ports, with notes of up to `note_chars`.

    `elf` is the file of another checkout's command line; None is that of this one. `tables` are
    added to the config, and `changes` are as for write_config.
    """
    with fresh_folder() as folder:
        copy = write_config(folder, config, max_note_chars=str(note_chars), **changes)
        copy.write_text(f"{copy.read_text(encoding='utf-8')}\n{tables}\n", encoding="utf-8")
        command = [str(elf.absolute()), "up", "-c", str(copy)] if elf else None
        with RunningService(copy, command=command) as running:
            yield running
