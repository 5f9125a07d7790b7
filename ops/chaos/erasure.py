"""Erases users of a busy service, compacts what is left of it, and takes others along to an empty one; prints figures.

    python -m ops.chaos.erasure                       3 users of 40 rounds erased under load, 200 recalls compared
    python -m ops.chaos.erasure --users 1 --rounds 5 --recalls 20
    python -m ops.chaos.erasure --under-load 10       10 rounds instead: users, agents and the tenant erased while they
                                                      and others write, talk, record, drop files and are recalled

Ends with 1 when anything of an erased user was found, a count was another than what was written, an export was not the
same, or a recall was answered otherwise.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from elf.client import Client
from ops.chaos import erasing_rounds
from tests.folders import fresh_folder
from tests.system import planting
from tests.system.planting import TENANT, Planted
from tests.system.service import REPO, RunningService, write_config

QUESTIONS = (
    "who went to",
    "what is deep at",
    "who met at",
    "who likes",
    "who was at",
    "what is wanted of",
    "where is",
)


class Figures:
    """Prints what was found, and remembers whether anything was wrong."""

    def __init__(self) -> None:
        self.wrong = 0

    def tell(self, what: str, value: object, *, is_right: bool = True) -> None:
        self.wrong += not is_right
        print(f"{what:<58}{value}{'' if is_right else '   WRONG'}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    figures = Figures()
    if options.under_load:
        kinds = [erasing_rounds.KINDS[at % len(erasing_rounds.KINDS)] for at in range(options.under_load)]
        with _service(erasing_rounds.webhooks) as service:
            erasing_rounds.run(service, kinds, figures.tell)
        return 1 if figures.wrong else 0
    with _service() as service:
        users = [planting.plant(service, rounds=options.rounds) for _ in range(options.users)]
        kept = planting.plant(service, rounds=options.rounds, agent="supervisor")
        receipts = _erase(service, users, figures)
        _transfer(service, kept, options.recalls, figures)
        _compact(service, users, receipts, figures)
    return 1 if figures.wrong else 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, usual in (("users", 3), ("rounds", 40), ("recalls", 200), ("under-load", 0)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    return parser.parse_args(argv)


@contextmanager
def _service(
    beside: Callable[[Path], AbstractContextManager[None]] = lambda _: nullcontext(),
) -> Iterator[RunningService]:
    """Run a service for the block; `beside` is what it needs beside it, given its config."""
    cache = Path(tempfile.gettempdir()) / "elf-erasure-model"
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{cache}"')
        with beside(config), RunningService(config) as service:
            yield service


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.monotonic()
    return call(), time.monotonic() - began


def _erase(service: RunningService, users: Sequence[Planted], figures: Figures) -> list[Any]:
    folder, receipts = service.config.parent / ".elf", []
    with (
        Client(service.admin_url, tenant_id=TENANT, timeout_s=300) as admin,
        planting.others_writing(service),
    ):
        for user in users:
            before = planting.in_tables(planting.dsn_of(service), user.needles)
            figures.tell(
                "tables with the user or the user's texts, before", len(before), is_right=bool(before)
            )
            receipt, took = _timed(lambda user=user: admin.memories.erase(user_id=user.user))  # type: ignore[misc]
            receipts.append(receipt)
            wrong = {
                f"{family}.{kind}": (receipt.erased[family].get(kind), count)
                for family, counts in user.counts.items()
                for kind, count in counts.items()
                if receipt.erased[family].get(kind) != count
            }
            pieces = sum(sum(counts.values()) for counts in receipt.erased.values())
            figures.tell("erased under load, pieces and seconds", f"{pieces} in {took:.1f} s")
            figures.tell("counts that are not what was written", wrong or 0, is_right=not wrong)
            left = planting.in_tables(planting.dsn_of(service), user.needles)
            figures.tell("tables with any of it, after", left or 0, is_right=not left)
            files = planting.in_graphs(folder / "graph", user.needles)
            figures.tell("files of graphs with any of it, after", files or 0, is_right=not files)
            proof, took = _timed(
                lambda user=user, receipt=receipt: admin.memories.prove(  # type: ignore[misc]
                    receipt, user_id=user.user, texts=[user.word]
                )
            )
            told = (
                f"{proof.proven}: {proof.columns} columns, {sum(proof.points.values())} points, {took:.1f} s"
            )
            figures.tell("proven by search", told, is_right=proof.proven)
        lines = planting.alike(planting.exported(admin))
        named = sum(any(needle in line for user in users for needle in user.needles) for line in lines)
        figures.tell("lines of an export with any of it", f"{named} of {len(lines)}", is_right=not named)
    said = sum(user.word in service.log for user in users)
    figures.tell("users whose texts stand in the log", said, is_right=not said)
    return receipts


def _transfer(service: RunningService, kept: Planted, recalls: int, figures: Figures) -> None:
    with _service() as other:
        with (
            Client(service.admin_url, tenant_id=TENANT) as here,
            Client(other.admin_url, tenant_id=TENANT, timeout_s=300) as there,
        ):
            lines, took = _timed(lambda: planting.exported(here, user_id=kept.user))
            figures.tell("exported, lines and seconds", f"{len(lines)} in {took:.1f} s")
            began = time.monotonic()
            new = sum(there.memories.take_in(lines[at : at + 500]).new for at in range(0, len(lines), 500))
            took = time.monotonic() - began
            figures.tell(
                "imported, new lines and seconds", f"{new} in {took:.1f} s", is_right=new == len(lines)
            )
            again = planting.alike(planting.exported(there, user_id=kept.user))
            same = again == planting.alike(lines)
            figures.tell("exported again: the same", same, is_right=same)
        queries = [
            f"{QUESTIONS[number % len(QUESTIONS)]} {kept.word} number {number % 40}?"
            for number in range(recalls)
        ]
        planting.settle(service, other, kept, queries)
        differing = [
            query
            for query in queries
            if planting.recalled(other, kept, query) != planting.recalled(service, kept, query)
        ]
        told = f"{len(queries) - len(differing)} of {len(queries)}"
        figures.tell("recalls that are answered the same", told, is_right=not differing)


def _compact(
    service: RunningService, users: Sequence[Planted], receipts: Sequence[Any], figures: Figures
) -> None:
    folder = service.config.parent / ".elf"
    needles = [needle for user in users for needle in user.needles]
    service.stop()
    before = planting.in_bytes(folder, needles)
    figures.tell("files with bytes of it, before compacting", len(before))
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    command = [sys.executable, "-m", "elf", "erase", "--compact", "-c", str(service.config)]
    done, took = _timed(
        lambda: subprocess.run(command, capture_output=True, text=True, cwd=REPO, check=False)
    )
    figures.tell(
        "compacted, exit code and seconds", f"{done.returncode} in {took:.1f} s", is_right=not done.returncode
    )
    left = planting.in_bytes(folder, needles)
    figures.tell("files with bytes of it, after compacting", left or 0, is_right=not left)
    after = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    figures.tell("megabytes before and after", f"{size / 1e6:.0f} and {after / 1e6:.0f}")
    service.start()
    with Client(service.admin_url, tenant_id=TENANT, timeout_s=300) as admin:
        proven = all(
            admin.memories.prove(receipt, user_id=user.user, texts=[user.word]).proven
            for user, receipt in zip(users, receipts, strict=True)
        )
    figures.tell("receipts that are proven after the next start", proven, is_right=proven)


if __name__ == "__main__":
    raise SystemExit(main())
