"""`elf up`: run the service, in this process or in several."""

from __future__ import annotations

import argparse
from functools import partial

from elf.commands import interrupt_ends_at_once
from elf.config import load
from elf.core.errors import StartupError


def run(options: argparse.Namespace) -> int:
    """Run everything until it is told to stop; returns the exit code."""
    config = load(options.config)
    with interrupt_ends_at_once("elf"):
        # The only place where the command line meets the service's code: the other commands start without it.
        from actors.kernel.failure import ActorGaveUp

        if config.processes is not None:
            from actors.processes.several import run_processes  # what they run is loaded by them alone

            serve = partial(run_processes, config, config.processes, source=str(options.config))
        else:
            from actors.system import run as run_system

            serve = partial(run_system, config, source=str(options.config))
        try:
            return serve()
        except ActorGaveUp as error:
            raise StartupError(f"{error}: {error.__cause__}") from error
