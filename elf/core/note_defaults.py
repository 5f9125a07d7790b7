"""What a note is when its writer does not say: the same for the client, the command line and the tools of agents."""

from __future__ import annotations

from typing import Final

DEFAULT_TYPE: Final = "fact"
DEFAULT_IMPORTANCE: Final = 0.5
DEFAULT_CONFIDENCE: Final = 0.8
