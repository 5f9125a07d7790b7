"""A random week: whatever is said, added, changed, deleted or left to the background, nothing sensitive changes without
the user's agreement.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from elf.db.database import Database
from elf.families.assistant.rules.user_context import SENSITIVE
from tests.db.assistant.assistant_kit import TENANT, USER, AssistantHouse, house_at
from tests.db.assistant.consolidation_kit import kettles, pairs_in, plant
from tests.db.assistant.model_kit import ScriptedModel
from tests.db.assistant.test_consolidation import consolidate
from tests.db.assistant.test_taking_along import taken_in

pytestmark = pytest.mark.anyio

STEPS: Final = 60
SAID: Final[Mapping[str, tuple[str, ...]]] = {
    "preferred_name": ("Please call me Ana.", "Please call me Bea."),
    "city": ("I live in Berlin.", "I live in Paris.", "I live in Lisbon."),
    "language": ("Please answer in German.", "Please answer in French."),
    "pronouns": ("Remember that my pronouns are she/her.", "Remember that my pronouns are they/them."),
    "tone": ("I prefer short answers.", "I prefer detailed answers."),
}
TOLD: Final = (
    "User lives in Oslo.", "User's preferred name is Eve.", "User's pronouns are he/him.", "User lives in Berlin.",
    "User wants answers in Dutch.",
)  # fmt: skip


class Week:
    """What is done, and what the user agreed to by it."""

    def __init__(self, house: AssistantHouse, seed: int) -> None:
        self._house = house
        self._rng = random.Random(seed)
        self._turn = 0
        self.agreed: dict[str, str] = {}
        self.decided: dict[str, str] = {}

    async def step(self) -> None:
        does = (
            self._says, self._says, self._says, self._adds, self._changes, self._deletes, self._decides, self._decides,
            self._agrees_in_the_chat, self._takes_in, self._compares, self._waits,
        )  # fmt: skip
        await self._rng.choice(does)()
        await self._house.do_jobs()

    async def _says(self, **other: Any) -> None:
        self._turn += 1
        texts = self._rng.choice(list(SAID.values()))
        said = [{"role": "user", "content": f"{self._rng.choice(texts)} Yes, do that."}]
        thread = self._rng.choice(("t1", "t2"))
        await self._house.post("turn", thread_id=thread, turn_id=str(self._turn), messages=said, **other)

    async def _adds(self) -> None:
        await self._house.add(self._rng.choice(TOLD), "profile", thread_id="t1")

    async def _changes(self) -> None:
        if (memory := await self._memory()) is not None:
            await self._house.patch(f"memories/{memory['id']}", text=self._rng.choice(TOLD))

    async def _deletes(self) -> None:
        if (memory := await self._memory()) is not None:
            await self._house.delete(f"memories/{memory['id']}", hard=self._rng.random() < 0.3)

    async def _decides(self) -> None:
        if (waiting := await self._waiting()) is not None:
            decision = self._rng.choice(("approve", "reject"))
            await self._house.post(f"proposals/{waiting['proposal_id']}/decision", decision=decision)
            self._note(waiting, decision)

    async def _agrees_in_the_chat(self) -> None:
        if (waiting := await self._waiting()) is not None:
            decision = self._rng.choice(("approve", "reject"))
            said = {"proposal_id": waiting["proposal_id"], "decision": decision, "quote": "Yes, do that."}
            await self._says(acknowledgements=[said])
            self._note(waiting, decision)

    async def _takes_in(self) -> None:
        field, value = self._rng.choice((("city", "Oslo"), ("preferred_name", "Eve"), ("pronouns", "he/him")))
        told = {"field": field, "value": value, "updated_at": "2026-01-02T03:04:05Z"}
        await taken_in(self._house, [{"user_id": USER, "user_context": told}])

    async def _compares(self) -> None:
        await consolidate(self._house, tenant_id=TENANT, user_id=USER)

    async def _waits(self) -> None:
        self._house.clock.turn(days=self._rng.choice((1, 3)))
        for step in self._house.opened.garbage:
            await step.collect(self._house.clock.now(), 100)

    def _note(self, proposal: Mapping[str, Any], decision: str) -> None:
        self.decided[proposal["proposal_id"]] = "approved" if decision == "approve" else "rejected"
        if decision == "approve":
            self.agreed[proposal["field"]] = proposal["value"]

    async def _memory(self) -> Mapping[str, Any] | None:
        memories = (await self._house.get("memories"))["items"]
        return self._rng.choice(memories) if memories else None

    async def _waiting(self) -> Mapping[str, Any] | None:
        waiting = (await self._house.get("proposals", state="pending"))["items"]
        return self._rng.choice(waiting) if waiting else None


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_no_path_changes_a_sensitive_field_without_an_approved_proposal(
    house: AssistantHouse, seed: int
) -> None:
    week = Week(house, seed)
    for _ in range(STEPS):
        await week.step()
        context = await house.get("user_context")
        assert {field: context[field] for field in SENSITIVE if context[field] is not None} == week.agreed
    assert set(week.decided.values()) == {"approved", "rejected"}
    ended = {"pending": [], "expired": ["expired"], "superseded": ["superseded"]}
    for proposal in (await house.get("proposals", limit=200))["items"]:
        rows = (await house.get(f"memories/{proposal['proposal_id']}/history"))["items"]
        told = [row["meta"]["consent"] for row in reversed(rows)]
        state = week.decided.get(proposal["proposal_id"])
        end = [state] if state is not None else ended[proposal["state"]]
        assert [one["decision"] for one in told] == ["proposed", *end]
        assert {one["field"] for one in told} == {proposal["field"]}


async def test_whatever_a_language_model_says_of_a_user_changes_no_field(
    database: Database, tmp_path: Path
) -> None:
    def claims(question: str) -> str:
        pairs = [
            {
                "pair": pair["pair"], "verdict": "same", "text": f"User lives in Oslo {pair['pair']}.",
                "from": [pair["newer"]["id"], pair["older"]["id"]],
            }
            for pair in pairs_in(question)
        ]  # fmt: skip
        summaries = ("User's preferred name is Eve.", "User lives in Oslo.", "User speaks Dutch only.")
        return json.dumps({"pairs": pairs, "insights": [{"summary": summary} for summary in summaries]})

    async with house_at(database, tmp_path, chat=ScriptedModel(claims).chat, background=True) as house:
        await plant(house, kettles(5))
        said = [{"role": "user", "content": "I live in Berlin. Please call me Ana."}]
        await house.post("turn", thread_id="t1", turn_id="1", messages=said)
        await house.do_jobs()
        report = await consolidate(house, tenant_id=TENANT)
        kept = await house.get("memories", limit=200)
        assert len([one for one in kept["items"] if one["type"] == "insight"]) == 3
        assert report["merged"] > 0
        context = await house.get("user_context")
        assert [context[field] for field in sorted(SENSITIVE)] == [None] * len(SENSITIVE)
