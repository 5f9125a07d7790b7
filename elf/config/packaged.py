"""What stands behind `local:`: the names of its models and the length of their vectors.

Known here without the model runtime, so that a config file which asks for anything else is refused when it is read.
"""

from __future__ import annotations

from typing import Final

ENCODER_NAMES: Final = ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2")
"""The packaged model, which embeds and reranks."""

EXTRACTOR_NAME: Final = "rule-based-extractor"
"""The rule-based extractor."""

CONSOLIDATOR_NAME: Final = "statement-consolidator"
"""The rule-based consolidator, which goes by plain statements."""

DIMENSIONS: Final = 384
