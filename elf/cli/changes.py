"""`elf update` and `elf delete`: changing one note, and doing away with it."""

from __future__ import annotations

import argparse

from elf.cli.client import Reply, Service
from elf.cli.ids import whole_id
from elf.cli.notes import calls, run_request, show_results
from elf.cli.outcome import UsageError
from elf.config import Config

CHANGES = ("text", "importance", "confidence", "ttl_days")


def update(options: argparse.Namespace) -> int:
    if all(getattr(options, name) is None for name in CHANGES):
        raise UsageError("say what to change: --text, --importance, --confidence or --ttl-days")
    return run_request(options, _update, lambda body: show_results([body]))


def delete(options: argparse.Namespace) -> int:
    return run_request(options, _delete, lambda body: show_results([body]))


async def _update(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    within = calls(options)
    note_id = await whole_id(service, within, options.id, kind="note")
    return await service.ask(within.update(note_id, **{name: getattr(options, name) for name in CHANGES}))


async def _delete(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    within = calls(options)
    return await service.ask(within.delete(await whole_id(service, within, options.id, kind="note")))
