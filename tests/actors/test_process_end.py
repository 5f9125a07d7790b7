"""A process that is told to stop and does not wind up ends all the same, and says so if anybody reads it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from elf.core.log_writer import MAX_WRITE_BYTES, write_at_once

STUCK = """
import os, signal
import anyio
from actors.processes.process import run_process
from elf.core.log_writer import write_in_background
from elf.core.logs import configure_logging

async def serve(say):
    os.kill(os.getpid(), signal.SIGTERM)
    with anyio.CancelScope(shield=True):
        await anyio.sleep_forever()

write_in_background("stderr")
configure_logging("info", form="json")
run_process(serve, stop_deadline_s=0.01)
"""


@pytest.mark.parametrize("is_read", [True, False])
def test_a_stop_that_takes_too_long_is_cut_short_whether_or_not_the_log_is_read(is_read: bool) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as reader, open(writing, "wb", buffering=0) as log:
        while not is_read and write_at_once(writing, b"." * MAX_WRITE_BYTES):
            continue
        process = subprocess.run(
            [sys.executable, "-c", STUCK], stdout=log, stderr=log, check=False, timeout=60
        )
        assert process.returncode == 3
        if is_read:
            said = reader.read(10_000)
            assert b"elf: stopping (SIGTERM)\n" in said
            assert b'"event": "not_stopped_in_time"' in said
