"""What single values of a config file may be."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Text = Annotated[str, Field(min_length=1, pattern=r"\S", description="a string that is not empty")]
IndexedChars = Annotated[int, Field(ge=20_000, le=500_000)]
"""How many characters of a text are indexed, from the first on."""
Positive = Annotated[int, Field(ge=1, le=1_000_000_000)]
NotNegative = Annotated[int, Field(ge=0, le=1_000_000_000)]
Days = Annotated[int, Field(ge=1, le=36_500)]
DaysOrNever = Annotated[int, Field(ge=0, le=36_500)]
Milliseconds = Annotated[int, Field(ge=1, le=3_600_000)]
Dimensions = Annotated[int, Field(ge=1, le=16_000)]
UnitInterval = Annotated[float, Field(ge=0.0, le=1.0)]
Weight = Annotated[float, Field(ge=0.0, le=1e6)]
Bind = Annotated[str, Field(description="host:port, such as 127.0.0.1:8765")]
