"""The memory and the disk that one service takes: freshly started, and after notes were stored and searched.

    python -m ops.bench.footprint [--notes 1000] [--searches 200]

Starts `elf up` with the example config in a new folder. Memory is the proportional set size (Linux): what processes
share is counted once. It is that of `elf up`, of its Postgres with all its processes, and of the index's process. The
notes are short ones of made-up words, in ten projects; each search asks for another one.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from pathlib import Path

import httpx
import psutil

from ops.bench.search import PROFILE, body_of, question, store, wait_indexed
from tests.folders import fresh_folder
from tests.system.service import (
    RunningService,
    is_index_process,
    processes_of,
    write_config,
)

PROJECTS = 10
TENANT = "bench"


def memory_of(service: RunningService) -> dict[str, float]:
    """Megabytes by what they are for."""
    used: Counter[str] = Counter()
    for process in processes_of(service.config.parent):
        used[_role(process, service)] += process.memory_full_info().pss / 1e6
    return {**used, "all": sum(used.values())}


def _role(process: psutil.Process, service: RunningService) -> str:
    if process.pid == service.process.pid:
        return "service"
    return "index" if is_index_process(process) else "postgres"


def disk_of(folder: Path) -> dict[str, float]:
    """Megabytes of each folder in this one, and of all of it."""
    used = {child.name: size_of(child) for child in sorted(folder.iterdir()) if child.is_dir()}
    return {**used, "all": size_of(folder)}


def size_of(folder: Path) -> float:
    """Megabytes that the files of a folder take on the disk."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_blocks * 512 for path in files) / 1e6


def show(what: str, megabytes: dict[str, float]) -> None:
    print(f"{what:<26}" + "   ".join(f"{name} {size:.0f}" for name, size in megabytes.items()) + " MB")


def search(service: RunningService, count: int) -> None:
    rng = random.Random(41)
    with httpx.Client(base_url=service.url, headers={"Content-Type": "application/json"}) as client:
        for number in range(count):
            asked = body_of(TENANT, number % PROJECTS, question(rng, number))
            client.post("/v1/memory/search", content=asked).raise_for_status()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=1000)
    parser.add_argument("--searches", type=int, default=200, help=f"with the read profile {PROFILE}")
    options = parser.parse_args()
    options.projects = PROJECTS  # as wait_indexed asks
    with fresh_folder() as folder, RunningService(write_config(folder)) as service:
        show("memory, just started", memory_of(service))
        show("disk, just started", disk_of(folder / ".elf"))
        store(service.url, TENANT, options.notes, PROJECTS)
        wait_indexed(service.url, TENANT, options)
        search(service, options.searches)
        show(f"memory, {options.notes:,} notes", memory_of(service))
        show(f"disk, {options.notes:,} notes", disk_of(folder / ".elf"))


if __name__ == "__main__":
    main()
