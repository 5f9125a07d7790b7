"""Common wordings in which users say what they are known by, and sentences that only look like these.

Each file has the columns sentence, attribute and value; the attribute - stands for a sentence without a value. The set
held out was written by somebody who has not seen the code. `-s` prints the rates and what is missed.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.db.assistant.assistant_kit import AssistantHouse

pytestmark = pytest.mark.anyio

DATA: Final = Path(__file__).parents[2] / "data"
LEAST_RATE: Final = {"assistant-wordings-dev.tsv": 0.95, "assistant-wordings-held-out.tsv": 0.38}
"""That of the set held out is what it was when it was first tried."""
MOST_WRONG: Final = {"assistant-wordings-dev.tsv": 0, "assistant-wordings-held-out.tsv": 1}
SENSITIVE: Final = ("preferred_name", "pronouns", "city", "language")

Row = Mapping[str, str]


def rows_of(name: str) -> Sequence[Row]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


async def told(house: AssistantHouse, sentence: str, user: str) -> dict[str, Any]:
    """Say a sentence in two turns, and return what the user is known by, with what is proposed, and the memories."""
    for turn in ("1", "2"):
        messages = [{"role": "user", "content": sentence}]
        await house.post("turn", thread_id="t", turn_id=turn, messages=messages, user_id=user)
    context = await house.get("user_context", user_id=user)
    proposals = (await house.get("proposals", user_id=user))["items"]
    memories = (await house.get("memories", user_id=user))["items"]
    return {
        **{field: value for field, value in context.items() if value},
        **{one["field"]: one["value"] for one in proposals},
        "memories": [one["text"] for one in memories],
    }


def is_recognized(known: Mapping[str, Any], row: Row) -> bool:
    """Tell whether the value is known: as the field of its name, or else in a memory."""
    value = row["value"].lower()
    if row["attribute"] in (*SENSITIVE, "tone"):
        found = str(known.get(row["attribute"], "")).lower()
        return found == value or found.startswith(f"{value},")
    return any(value in text.lower() for text in known["memories"])


def is_empty(known: Mapping[str, Any]) -> bool:
    """Tell whether no field has a value."""
    return not any(field in known for field in (*SENSITIVE, "tone"))


@pytest.mark.parametrize("name", LEAST_RATE)
async def test_common_wordings_are_recognized_and_nothing_else(house: AssistantHouse, name: str) -> None:
    rows = rows_of(name)
    missed: list[Any] = []
    wrong: list[Any] = []
    for number, row in enumerate(rows):
        known = await told(house, row["sentence"], f"u{number}")
        if row["attribute"] == "-":
            wrong += [] if is_empty(known) else [(row["sentence"], known)]
        elif not is_recognized(known, row):
            missed.append((row["sentence"], row["attribute"], row["value"], known))
    stated = sum(row["attribute"] != "-" for row in rows)
    rate = 1.0 if not stated else 1 - len(missed) / stated
    report = [f"{name}: {rate:.3f} of {stated} recognized; of {len(rows) - stated} others {len(wrong)}"]
    sys.stdout.write("\n".join([*report, *(f"  {one}" for one in (*missed, *wrong)), ""]))
    assert rate >= LEAST_RATE[name]
    assert len(wrong) <= MOST_WRONG[name]
