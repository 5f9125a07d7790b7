"""What became of something that was said, in a family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from elf.core.errors import ErasureInProgress, ServiceError
from elf.memory.api import remembering as r
from elf.offers import Written

WITHOUT_ID: Final = ("ADD", "PROPOSED")
"""What a dry run would make has no id yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What was written; `error` is why nothing is."""

    written: Sequence[Written] = field(default_factory=tuple)
    error: ServiceError | None = None

    def stored(self) -> dict[str, Any]:
        """Return it as it is stored."""
        return {
            "written": [asdict(one) for one in self.written],
            "error_code": None if self.error is None else self.error.error_code,
            "message": None if self.error is None else self.error.message,
        }

    def shown(self, family: str) -> r.InFamily:
        """Return what a dry run tells of it."""
        state: r.State = "shown" if self.error is None else "refused"
        told = r.InFamily(family=family, state=state, **self.stored())
        written = [
            one.model_copy(update={"id": None}) if one.op in WITHOUT_ID else one for one in told.written
        ]
        return told.model_copy(update={"written": written})


def is_refusal(error: ServiceError) -> bool:
    """Tell whether an error says that it will never be taken, so that it need not be tried again."""
    return error.status < 500 and not isinstance(error, ErasureInProgress)
