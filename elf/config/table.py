"""What every TOML table is: frozen, strict, and silent about secrets."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from elf.config.places import masked

SECRET_KEYS = frozenset({"api_key", "default_headers", "secret"})
PLACE_KEYS = frozenset({"dsn", "read_dsn", "url", "api_base", "endpoint"})


class Table(BaseModel):
    """A TOML table: frozen, strict about types, unknown keys are faults, and its repr shows no secret."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, hide_input_in_errors=True
    )

    def anchored(self, folder: Path) -> Self:
        """Return the table with every relative folder and file in it, and in the tables in it, taken as below `folder`.

        A table that names one itself overrides this.
        """
        inner = {name: value.anchored(folder) for name, value in self if isinstance(value, Table)}
        return self.model_copy(update=inner)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for key, value in super().__repr_args__():
            if key in SECRET_KEYS:
                yield key, "***"
            else:
                yield key, masked(value) if key in PLACE_KEYS else value
