"""The words of the one memory."""

from __future__ import annotations

from typing import Final

FAMILY: Final = "memories"
MAX_QUERY_CHARS: Final = 8192
MAX_ITEMS: Final = 100
