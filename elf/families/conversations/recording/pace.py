"""How quick recordings are, and after how long one counts as broken."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """In seconds. What comes within `gather_s` is stored, and sent to those who replay, as one.

    Whoever follows another process looks each `poll_s`, whether it was woken or not. A process says each `heartbeat_s`
    that it records; one that is silent for `silent_s` is taken for gone, by those who saw it silent for `patience_s`:
    after an outage of Postgres all are, for a moment. A call waits for an end for `end_s`, and what cannot be
    stored `give_up_s` after its end is given up. What is over goes `keep_s` later, be it followed or not.
    """

    gather_s: float = 0.05
    poll_s: float = 0.25
    heartbeat_s: float = 1.0
    silent_s: float = 15.0
    patience_s: float = 2.5
    retry_s: float = 0.25
    statement_s: float = 5.0
    end_s: float = 30.0
    give_up_s: float = 60.0
    keep_s: float = 60.0

    @property
    def silence(self) -> timedelta:
        """After how long a silent process is gone."""
        return timedelta(seconds=self.silent_s)
