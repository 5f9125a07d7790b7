"""What a detector of secrets returns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretFinding:
    """A secret or personal number in a text: its kind in snake_case, and where it stands, in code points."""

    kind: str
    start: int
    end: int
