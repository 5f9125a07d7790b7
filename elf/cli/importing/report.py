"""What became of the lines of an import."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any, TextIO

from elf.cli.importing.lines import Rejection
from elf.cli.terminal import error_terminal

SAID = {"ADD": "added", "NONE": "known already", "UPDATE": "updated"}
MAX_SHOWN = 20
MAX_KEPT = 1000


class Report:
    """Counts results, writes rejected lines to the file for them as they come, and keeps the first ones to show."""

    def __init__(self, errors: TextIO | None) -> None:
        self._errors = errors
        self._ops: Counter[str] = Counter()
        self._kept: list[Rejection] = []
        self.rejected = 0
        self.lines = 0

    @property
    def done(self) -> int:
        """How many lines are stored or rejected."""
        return self._ops.total() + self.rejected

    def count(self, op: str) -> None:
        self._ops[op] += 1

    def reject(self, rejection: Rejection) -> None:
        self.rejected += 1
        if len(self._kept) < MAX_KEPT:
            self._kept.append(rejection)
        if self._errors is not None:
            self._errors.write(json.dumps(_as_json(rejection)) + "\n")

    def summary(self) -> str:
        """Say in one line what became of the lines."""
        became = [f"{count:,} {SAID.get(op, op)}" for op, count in sorted(self._ops.items())]
        lines = f"{self.lines:,} line{'' if self.lines == 1 else 's'}"
        return f"{lines}: {', '.join([*became, f'{self.rejected:,} rejected'])}"

    def as_json(self, *, finished: bool) -> dict[str, Any]:
        """Return the summary as data, with the first rejected lines."""
        return {
            "finished": finished,
            "lines": self.lines,
            "ops": dict(sorted(self._ops.items())),
            "rejected": self.rejected,
            "rejections": [_as_json(rejection) for rejection in self._kept],
        }

    def print_rejections(self) -> None:
        """Print the first of the rejected lines, and how many there are besides."""
        shown = sorted(self._kept, key=lambda rejection: rejection.line)[:MAX_SHOWN]
        if (console := error_terminal()) is not None:
            from elf.cli.screens.rejections import rejections

            console.print(rejections(shown))
        else:
            for rejection in shown:
                print(f"elf: {rejection}", file=sys.stderr)
        if self.rejected > MAX_SHOWN:
            hint = "" if self._errors else "; --errors FILE keeps them all"
            print(f"elf: and {self.rejected - MAX_SHOWN:,} more rejected lines{hint}", file=sys.stderr)


def _as_json(rejection: Rejection) -> dict[str, Any]:
    return {
        "line": rejection.line,
        "field": rejection.field,
        "code": rejection.code,
        "reason": rejection.reason,
    }
