"""Steps as they are kept, and which of them say what to do."""

from __future__ import annotations

import pytest

from elf.families.assistant.rules.steps import is_imperative, numbered, plain_step


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("Build the wheel.", "Build the wheel."),
        ("1. Build the wheel.", "Build the wheel."),
        ("Step 12: Build  the wheel.", "Build the wheel."),
        (" - Build the wheel.", "Build the wheel."),
        ("3) Build the wheel.", "Build the wheel."),
        ("2.5 mm screws: tighten them.", "2.5 mm screws: tighten them."),
        ("1. 2. Build.", "2. Build."),
        ("1. ", "1."),
    ],
)
def test_a_step_loses_the_number_that_it_had(given: str, plain: str) -> None:
    assert plain_step(given) == plain


def test_steps_are_numbered_in_their_order() -> None:
    assert numbered(["Build.", "Ship."]) == "1. Build.\n2. Ship."


@pytest.mark.parametrize(
    "step",
    ["Build the wheel.", "Bring a cable.", "Ping the host.", "Need be, wait.", "Proceed.", "Das Rad bauen."],
)
def test_what_says_what_to_do(step: str) -> None:
    assert is_imperative(step)


@pytest.mark.parametrize(
    "step",
    ["The wheel is built.", "You build the wheel.", "Building the wheel.", "Uploaded it.", "To build, wait."],
)
def test_what_only_tells(step: str) -> None:
    assert not is_imperative(step)
