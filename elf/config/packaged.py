"""The names of the models behind `local:` that go by rules. The others are in elf.providers.local.catalog."""

from __future__ import annotations

from typing import Final

EXTRACTOR_NAME: Final = "rule-based-extractor"
"""The rule-based extractor."""

CONSOLIDATOR_NAME: Final = "statement-consolidator"
"""The rule-based consolidator, which goes by plain statements."""
