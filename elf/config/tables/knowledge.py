"""[knowledge.*]: episodes, facts and rules. The family is on where the file has the table; each key is optional."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Literal, Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from pydantic import AfterValidator, Field, model_validator

from elf.config.table import Table
from elf.config.values import IndexedChars


def _cron(line: str) -> str:
    if line:
        if len(line.split()) != 5:
            raise ValueError("is no cron line: it must have five fields")
        try:
            CronSim(line, datetime.now(UTC))
        except CronSimError as error:
            raise ValueError(f"is no cron line: {error}") from error
    return line


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError("is no time zone of the IANA database") from error
    return name


Cron = Annotated[
    str, Field(max_length=128, description='five fields of cron, or "" for never'), AfterValidator(_cron)
]
Weight = Annotated[float, Field(ge=0.0, le=1_000.0)]


class ScoreWeights(Table):
    """[knowledge.retrieval.score_weights]: how much each term counts in recall."""

    relevance: Weight = 0.4
    importance: Weight = 0.3
    recency: Weight = 0.2
    confidence: Weight = 0.1

    @model_validator(mode="after")
    def _not_all_zero(self) -> Self:
        if not any(weight for _, weight in self):
            raise ValueError("must not all be 0")
        return self


class Retrieval(Table):
    """[knowledge.retrieval]: `default_limit` is how many memories context looks at, `rules_share` what of its room
    rules may keep.
    """

    context_token_budget: Annotated[int, Field(ge=5, le=100_000)] = 3000
    default_limit: Annotated[int, Field(ge=1, le=100)] = 20
    default_mode: Literal["semantic", "keyword", "hybrid"] = "hybrid"
    score_weights: ScoreWeights = ScoreWeights()
    rules_share: Annotated[float, Field(ge=0.0, le=1.0)] = 0.3


class Consolidation(Table):
    """[knowledge.consolidation]: how episodes become facts and rules."""

    batch_episodes: Annotated[int, Field(ge=1, le=1000)] = 100
    max_attempts: Annotated[int, Field(ge=1, le=100)] = 5
    lease_seconds: Annotated[int, Field(ge=5, le=86_400)] = 300
    retry_seconds: Annotated[int, Field(ge=1, le=21_600)] = 60


class Schedule(Table):
    """[knowledge.schedule]: when each work is due, as five fields of cron; "" is never."""

    timezone: Annotated[str, AfterValidator(_zone)] = "UTC"
    consolidation: Cron = "0 */6 * * *"
    decay_sweep: Cron = "15 3 * * *"
    episode_cleanup: Cron = "0 4 * * *"


class KnowledgeTable(Table):
    """[knowledge]: an episode is found by its first `indexed_content_chars`; facts and rules are shorter."""

    default_ttl_days: Annotated[int, Field(ge=1, le=36_500)] = 7
    max_entries: Annotated[int, Field(ge=0, le=10_000_000)] = 10_000
    indexed_content_chars: IndexedChars = 100_000
    retrieval: Retrieval = Retrieval()
    consolidation: Consolidation = Consolidation()
    schedule: Schedule = Schedule()
