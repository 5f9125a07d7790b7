"""Where the fronts of a service listen, and how it says so."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from actors.processes.process import Say
from elf.config.model import Config
from elf.config.places import Address


class Fronts(NamedTuple):
    """Where the fronts of a service listen; `others` are the admin fronts of further processes, by process."""

    http: Address | None = None
    admin: Address | None = None
    mcp: Address | None = None
    grpc: Address | None = None
    others: Sequence[tuple[str, Address]] = ()

    def lines(self) -> list[str]:
        """Return a line for each front, as programs read them."""
        return [
            f"elf: ready at http://{self.http}" if self.http else "elf: ready",
            *([f"elf: admin at http://{self.admin}"] if self.admin else []),
            *([f"elf: mcp at http://{self.mcp}/mcp"] if self.mcp else []),
            *([f"elf: grpc at {self.grpc}"] if self.grpc else []),
            *(f"elf: admin of {name} at http://{address}" for name, address in self.others),
        ]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Return name and address of each front, for people."""
        if self.http:
            yield "API", f"http://{self.http}  (described at http://{self.http}/docs)"
        if self.mcp:
            yield "MCP", f"http://{self.mcp}/mcp"
        if self.grpc:
            yield "gRPC", f"{self.grpc}  (without TLS)"
        if self.admin:
            yield "admin", f"http://{self.admin}  (this machine only)"
        for name, address in self.others:
            yield f"admin of {name}", f"http://{address}"

    def announce(self, config: Config, *, source: str, say: Say) -> None:
        """Say that they listen: at a terminal with all that runs there, else in the lines that programs wait for."""
        if sys.stdout.isatty():
            from actors.processes.ready_screen import (
                show,  # which needs rich, and most processes have no terminal
            )

            show(self, config, source=source)
        else:
            for line in self.lines():
                say(line)
