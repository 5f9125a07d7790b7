"""What became of the lines of an import."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any, TextIO

from elf.cli.importing.lines import Rejection

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

    def count(self, op: str) -> None:
        self._ops[op] += 1

    def reject(self, rejection: Rejection) -> None:
        self.rejected += 1
        if len(self._kept) < MAX_KEPT:
            self._kept.append(rejection)
        if self._errors is not None:
            self._errors.write(json.dumps(_as_json(rejection)) + "\n")

    def summary(self) -> str:
        parts = [f"{count} {op}" for op, count in sorted(self._ops.items())]
        return f"{self.lines} lines: {', '.join([*parts, f'{self.rejected} rejected'])}"

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
        for rejection in sorted(self._kept, key=lambda rejection: rejection.line)[:MAX_SHOWN]:
            print(f"elf: {rejection}", file=sys.stderr)
        if self.rejected > MAX_SHOWN:
            hint = "" if self._errors else "; --errors FILE keeps them all"
            print(f"elf: and {self.rejected - MAX_SHOWN} more rejected lines{hint}", file=sys.stderr)


def _as_json(rejection: Rejection) -> dict[str, Any]:
    return {
        "line": rejection.line,
        "field": rejection.field,
        "code": rejection.code,
        "reason": rejection.reason,
    }
