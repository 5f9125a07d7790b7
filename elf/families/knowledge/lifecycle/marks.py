"""Marks of rules: each tells how one application went, and moves the rule's effectiveness and maturity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, Self
from uuid import UUID

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, NotFound
from elf.core.secrets import redacting
from elf.core.slices import in_slices
from elf.db.database import Connection
from elf.db.errors import retrying
from elf.families.knowledge.access import Reach, reach_of
from elf.families.knowledge.api import lifecycle as lc
from elf.families.knowledge.api import rows
from elf.families.knowledge.kit import Kit
from elf.families.knowledge.model import Maturity
from elf.families.knowledge.reading.rows import told_rule
from elf.families.knowledge.rules import effectiveness
from elf.families.knowledge.writing.events import Event

PATH: Final = "$.rule_id"
MAX_REASONS_BYTES: Final = 65_536  # of JSON, with the rule; its applications keep them all


@dataclass(frozen=True, slots=True)
class Mark:
    """How an application of a rule went: where, and of harm, why."""

    outcome: Literal["helpful", "harmful"]
    context: str | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a rule from its marks."""

    maturity: Maturity
    applied_count: int
    success_count: int
    harmful_count: int
    effectiveness_score: float

    @classmethod
    def after(cls, mark: Mark, rule: Mapping[str, Any], now: datetime) -> Self:
        """Return what a rule, as it was locked, has after a mark."""
        applied = rule["applied_count"] + 1
        if mark.outcome == "helpful":
            successes, harms = rule["success_count"] + 1, rule["harmful_count"]
            score = effectiveness.helpful_score(successes, applied)
            maturity = effectiveness.promoted(
                rule["maturity"], success_count=successes, score=score, age=now - rule["created_at"]
            )
        else:
            successes, harms = rule["success_count"], rule["harmful_count"] + 1
            score = effectiveness.harmful_score(successes, harms)
            maturity = effectiveness.demoted(rule["maturity"], score=score)
        return cls(maturity, applied, successes, harms, score)


class RuleMarks:
    """Carries out the operations that mark rules, each by one transaction with its events and its job."""

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._sql = kit.queries

    async def mark_helpful(self, request: lc.MarkHelpful, caller: Caller) -> rows.Rule:
        """Count a success. Raises NotFound, and InvalidRequest for a rule that is forgotten."""
        mark = Mark("helpful", await self._clean(request.context))
        return await self._mark(request, caller, mark)

    async def mark_harmful(self, request: lc.MarkHarmful, caller: Caller) -> rows.Rule:
        """Count a harm; a rule of which there is too much is left to be inverted. Raises as mark_helpful does."""
        mark = Mark("harmful", await self._clean(request.context), await self._clean(request.reason))
        return await self._mark(request, caller, mark)

    async def _clean(self, text: str | None) -> str | None:
        """Return a text without credentials, where they are blanked; None for none."""
        if not text or not self._kit.redact:
            return text or None
        return await in_slices(redacting(text))

    async def _mark(self, request: lc.MarkHelpful, caller: Caller, mark: Mark) -> rows.Rule:
        reach = reach_of(request.tenant_id, caller)
        return await retrying(lambda: self._mark_once(reach, request.rule_id, mark))

    async def _mark_once(self, reach: Reach, rule_id: UUID, mark: Mark) -> rows.Rule:
        now = self._kit.now()
        async with self._kit.database.transaction(competing_for=[f"rule {rule_id}"]) as connection:
            rule = await self._lock(connection, reach, rule_id)
            standing = Standing.after(mark, rule, now)
            inverts = _is_to_be_inverted(mark, rule, standing)
            row = await connection.fetchrow(
                self._sql["mark_rule"], reach.tenant_id, rule_id, now, standing.applied_count,
                standing.success_count, standing.harmful_count, standing.effectiveness_score, standing.maturity,
                mark.outcome, mark.context, mark.reason, MAX_REASONS_BYTES, reach.actor, inverts,
                reach.may_change(rule["user_id"]),
            )  # fmt: skip
            assert row is not None, "it is locked"
            await self._kit.record(connection, reach, _events(rule_id, mark, rule, standing), now=now)
            if inverts:
                connection.after_commit(self._kit.ring)
        return told_rule(row, now)

    async def _lock(self, connection: Connection, reach: Reach, rule_id: UUID) -> Mapping[str, Any]:
        rule = await connection.fetchrow(self._sql["lock_rule"], reach.tenant_id, reach.seen, rule_id)
        if rule is None:
            raise NotFound(f"there is no rule {rule_id}", fields=[PATH])
        if rule["is_forgotten"]:
            raise InvalidRequest(f"{PATH}: the rule is forgotten", fields=[PATH])
        return rule


def _is_to_be_inverted(mark: Mark, rule: Mapping[str, Any], standing: Standing) -> bool:
    """Tell whether a mark leaves a rule to be inverted that was not to be before."""
    if mark.outcome == "helpful" or rule["needs_inversion"]:
        return False
    return effectiveness.is_to_be_inverted(
        standing.maturity, harmful_count=standing.harmful_count, score=standing.effectiveness_score
    )


def _events(rule_id: UUID, mark: Mark, rule: Mapping[str, Any], standing: Standing) -> list[Event]:
    counts = {
        "applied_count": standing.applied_count,
        "success_count": standing.success_count,
        "harmful_count": standing.harmful_count,
        "effectiveness_score": standing.effectiveness_score,
    }
    helped = mark.outcome == "helpful"
    events = [Event("rule_helpful" if helped else "rule_harmful", "rule", rule_id, counts)]
    if standing.maturity != rule["maturity"]:
        steps = {"from": rule["maturity"], "to": standing.maturity}
        events.append(Event("rule_promoted" if helped else "rule_demoted", "rule", rule_id, steps))
    return events
