"""`elf up`: run the service, in this process or in several."""

from __future__ import annotations

import argparse
from functools import partial

from elf.commands import interrupt_ends_at_once
from elf.config import load
from elf.config.processes import OPERATED
from elf.core.errors import StartupError
from elf.core.log_writer import write_in_background


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add what `elf up` takes."""
    command.add_argument(
        "--offline",
        action="store_true",
        help="do not fetch a model that is missing; end with an error instead",
    )


def run(options: argparse.Namespace) -> int:
    """Run everything until it is told to stop; returns the exit code."""
    config = load(options.config)
    write_in_background("stderr")
    with interrupt_ends_at_once("elf"):
        # The only place where the command line meets the service's code: the other commands start without it.
        from actors.kernel.failure import ActorGaveUp
        from elf.providers.local.model_cache import fetch_models
        from elf.providers.local.progress import CommandReport

        if config.processes is not None:
            from actors.processes.several import run_processes  # what they run is loaded by them alone

            roles = {role for _, role in config.processes.named()}
            serve = partial(run_processes, config, config.processes, source=str(options.config))
        else:
            from actors.system import run as run_system

            roles = set(OPERATED)
            serve = partial(run_system, config, source=str(options.config))
    if not roles.isdisjoint(OPERATED):
        # Before anything is started. Outside the block, so that Ctrl-C gives the terminal its cursor back.
        fetch_models(config, report=CommandReport(), offline=options.offline)
    with interrupt_ends_at_once("elf"):
        try:
            return serve()
        except ActorGaveUp as error:
            raise StartupError(f"{error}: {error.__cause__}") from error
