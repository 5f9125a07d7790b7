"""Pages of docs/ that can be run: their programs are typed one after the other, and print what the page says."""

from __future__ import annotations

import contextlib
import io
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elf import Memory
from elf.client import Client
from tests.readme import blocks

DOCS = Path(__file__).resolve().parents[1] / "docs"


@dataclass
class Page:
    """A page, and what its programs know when they are typed. `here` is what stands here for what the page says."""

    name: str
    here: Mapping[str, str]
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> Path:
        return DOCS / self.name

    def type_all(self, commands: Callable[[str], None] | None = None) -> None:
        """Type all programs, several before a text as one; what commands print is given to `commands`."""
        programs: list[str] = []
        try:
            for block in blocks(self.path.read_text(encoding="utf-8")):
                if block.language == "python":
                    programs.append(block.text)
                elif block.language == "text":
                    (program,) = programs
                    printed = self._printed(program)
                    assert printed == block.text, f"{program}\nprints\n{printed}"
                    programs.clear()
                elif block.language == "sh" and commands is not None:
                    commands(self._typed(block.text))
        finally:
            for client in [one for one in self.known.values() if isinstance(one, Client | Memory)]:
                client.close()
        assert programs == []

    def _printed(self, program: str) -> str:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(self._in_place(program), str(self.path), "exec"), self.known)
        return out.getvalue()

    def _typed(self, command: str) -> str:
        line = ["bash", "-ec", self._in_place(command)]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    def _in_place(self, text: str) -> str:
        for told, meant in self.here.items():
            text = text.replace(told, meant)
        return text
