"""Labels in front of what is said, which are no names of speakers."""

from __future__ import annotations

from uuid import uuid4

import pytest

from elf import Memory
from tests.system.service import RunningService

LABELS = ("Draft", "Answer", "Subject", "Translation", "Final Answer", "Summary", "Example 1", "Email")


@pytest.mark.parametrize("label", LABELS)
def test_what_an_assistant_says_behind_a_label_is_not_kept(service: RunningService, label: str) -> None:
    ana = f"ana-{uuid4()}"
    said = [
        {"role": "user", "content": "Can you say that in English?"},
        {"role": "assistant", "content": f"{label}: I live in Rome. I am allergic to nuts."},
    ]
    with Memory(service.url, user_id=ana) as memory:
        told = memory.remember(said)
        assert told.done
        assert memory.get_all()["results"] == []


def test_what_a_user_says_behind_a_label_is_the_users(service: RunningService) -> None:
    ana = f"ana-{uuid4()}"
    with Memory(service.url, user_id=ana) as memory:
        memory.remember("Answer: I live in Rome.")
        kept = {one["memory"] for one in memory.get_all()["results"]}
        assert kept == {"Profile: I live in Rome.", "User lives in Rome."}


def test_somebody_named_is_a_speaker(service: RunningService) -> None:
    ana = f"ana-{uuid4()}"
    with Memory(service.url, user_id=ana) as memory:
        memory.remember("Caroline: I live in Rome.")
        assert [one["memory"] for one in memory.get_all()["results"]] == [
            "Profile: Caroline: I live in Rome."
        ]
