"""What the parts of a process tell about their work, for whoever counts it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

CallOutcome = Literal["answered", "broken", "refused", "unavailable", "cancelled", "failed"]
"""What came of a call to a provider.

answered     with a body that can be read
broken       with something else than was asked for: no JSON, too few vectors, too many bytes
refused      the provider will not serve it, as with 401
unavailable  no answer, or none that helps, in the time it had
cancelled    the caller stopped waiting, most often because its own time was over
failed       for another reason, which is a fault of ours
"""


class Measures(Protocol):
    """Counts and times work. No method blocks or raises, and none is told a tenant or what a user wrote."""

    def request(self, *, front: str, method: str, route: str, status: int, seconds: float) -> None:
        """An HTTP request was answered; `route` is the template of its path, such as /v1/memory/notes/{note_id}."""
        ...

    def rpc(self, *, front: str, method: str, code: str, seconds: float) -> None:
        """A gRPC call was answered; `method` is its path, such as /memory.v1.SystemService/GetHealth."""
        ...

    def refusal(self, *, front: str, reason: str) -> None:
        """Somebody was refused for who it is, or is not; `reason` is one of a few, such as unknown_key."""
        ...

    def search(self, *, family: str, stages: Sequence[tuple[str, float]], degraded: Sequence[str]) -> None:
        """A search of a family was answered: the milliseconds of each stage, and the parts it had to do without."""
        ...

    def provider_call(
        self, *, provider: str, outcome: CallOutcome, seconds: float, failed_tries: int
    ) -> None:
        """A call to a provider ended; `provider` is its table in the config, such as embedding."""
        ...


class NoMeasures:
    """Counts nothing."""

    def request(self, *, front: str, method: str, route: str, status: int, seconds: float) -> None:
        """Do nothing."""

    def rpc(self, *, front: str, method: str, code: str, seconds: float) -> None:
        """Do nothing."""

    def refusal(self, *, front: str, reason: str) -> None:
        """Do nothing."""

    def search(self, *, family: str, stages: Sequence[tuple[str, float]], degraded: Sequence[str]) -> None:
        """Do nothing."""

    def provider_call(
        self, *, provider: str, outcome: CallOutcome, seconds: float, failed_tries: int
    ) -> None:
        """Do nothing."""
