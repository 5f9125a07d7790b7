"""The words of the knowledge family: kinds, states and bounds, as they are stored and told."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final, Literal, TypeAlias, get_args

from elf.core.errors import InvalidRequest

FAMILY: Final = "knowledge"

MemoryType: TypeAlias = Literal["episode", "fact", "rule"]
Permanence: TypeAlias = Literal["permanent", "stable", "standard", "volatile", "ephemeral"]
Maturity: TypeAlias = Literal["candidate", "established", "proven", "anti_pattern"]
Validity: TypeAlias = Literal["active", "superseded", "expired", "retracted"]
ConsolidationStatus: TypeAlias = Literal["pending", "consolidated", "dead_letter", "discarded"]
Outcome: TypeAlias = Literal["helpful", "harmful"]
Relation: TypeAlias = Literal["derived_from", "supports", "contradicts", "supersedes", "related_to"]
EntityType: TypeAlias = Literal["person", "organization", "place", "other"]
SearchMode: TypeAlias = Literal["semantic", "keyword", "hybrid"]

MEMORY_TYPES: Final[tuple[MemoryType, ...]] = get_args(MemoryType)

DECAY_RATES: Final = MappingProxyType[Permanence, float](
    {"permanent": 0.0, "stable": 0.002, "standard": 0.008, "volatile": 0.03, "ephemeral": 0.1}
)
"""By how much the confidence of a fact decays: the exponent a day."""

RULE_DECAY_RATE: Final = 0.01
FACT_CONFIDENCE: Final = 1.0
RULE_CONFIDENCE: Final = 0.5
RULE_IMPORTANCE: Final = 5.0  # rules have none of their own, and count as what is neither important nor not
DEFAULT_IMPORTANCE: Final = 5.0
GLOBAL_SCOPE: Final = "global"

MAX_CONTENT_CHARS: Final = 16_384
MAX_EPISODE_CHARS: Final = 262_144
MAX_NAME_CHARS: Final = 512
MAX_TAG_CHARS: Final = 128
MAX_TAGS: Final = 64
MAX_METADATA_BYTES: Final = 65_536
MAX_ALIASES: Final = 256
MAX_ALIAS_CHARS: Final = 16_384
"""Of all other names of an entity together, which a name that is looked for is compared with one by one."""
MAX_QUERY_CHARS: Final = 2048
MAX_PROMPT_CHARS: Final = 65_536

RESERVED_METADATA: Final = frozenset(
    {
        "status",
        "forgotten",
        "needs_inversion",
        "harmful_reasons",
        "harmful_reasons_dropped",
        "original_content",
        "merged_into",
    }
)
"""The keys of metadata that say in which state a memory or an entity is: nobody else writes them."""


def decay_rate(permanence: str) -> float:
    """Return the decay rate of a permanence, per day. Raises InvalidRequest, which lists the known ones."""
    for known, rate in DECAY_RATES.items():
        if known == permanence:
            return rate
    raise InvalidRequest(
        f"permanence must be one of {', '.join(DECAY_RATES)}, not {permanence!r}", fields=["$.permanence"]
    )
