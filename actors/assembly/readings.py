"""Reads the metrics that only Postgres knows, of all families."""

from __future__ import annotations

from collections.abc import Mapping

from actors.assembly.shared import Shared
from actors.telemetry.stored_readings import StoredReadings
from elf.db.schema import COMMON
from elf.family import Opened
from elf.outbox.chores import ChoreRuns
from elf.outbox.leased import LeasedOutbox


def add_stored_readings(shared: Shared, families: Mapping[str, Opened], traces: LeasedOutbox) -> None:
    """Add what reads them."""
    outboxes = {
        (family, name): outbox
        for family, opened in families.items()
        for name, outbox in opened.outboxes.items()
    }
    readings = StoredReadings(
        database=shared.database,
        outboxes={**outboxes, (COMMON, "traces"): traces},
        chores=ChoreRuns(shared.database),
        gauges=[gauge for opened in families.values() for gauge in opened.stored_gauges],
        clock=shared.clock,
    )
    shared.supervisor.add(readings)
    shared.metrics.watch_stored(readings.collect)
