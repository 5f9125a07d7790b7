"""What a text must have before a detector reads it: never more than what the detector finds has."""

from __future__ import annotations

from itertools import product
from string import ascii_uppercase

import pytest
from data.ordinary import ordinary_sentences
from data.planted_secrets import planted_secrets
from data.told_secrets import told_secrets
from hypothesis import given
from hypothesis import strategies as st

from elf.core.secrets.detector import Detector, detect
from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.folding import fold, lower
from elf.core.secrets.id_numbers import iban_length
from elf.core.secrets.scan import DETECTORS

pytestmark = pytest.mark.slow

SECRETS = [one.text for seed in range(3) for one in planted_secrets(seed)]
TOLD = [one.text for missed in (False, True) for one in told_secrets(missed=missed)]


def asked(text: str) -> dict[Detector, list[SecretFinding]]:
    return {one: [found for found, _ in detect([(0, one)], text)] for _, one in DETECTORS}


def all_that_is_found(text: str) -> dict[Detector, list[SecretFinding]]:
    return {one: list(one.find(text, lower(text))) for _, one in DETECTORS}


@pytest.mark.parametrize(
    "texts", [SECRETS, TOLD, ordinary_sentences(2000)], ids=["planted", "told", "ordinary"]
)
def test_no_detector_is_kept_from_what_it_finds(texts: list[str]) -> None:
    for text in [fold(text).text for text in texts]:
        assert asked(text) == all_that_is_found(text)


def test_every_detector_finds_something_in_the_texts_of_these_tests() -> None:
    found = [all_that_is_found(fold(text).text) for text in [*SECRETS, *TOLD]]
    assert {one for each in found for one, findings in each.items() if findings} == {
        one for _, one in DETECTORS
    }


@given(
    st.lists(st.sampled_from([*SECRETS, *TOLD]), min_size=1, max_size=2),
    st.integers(0, 300),
    st.integers(0, 300),
)
def test_no_detector_is_kept_from_what_it_finds_in_parts_of_texts(
    texts: list[str], start: int, end: int
) -> None:
    """Parts have as little as may be: one digit fewer, one letter fewer, a mark at either end."""
    text = fold(" ".join(texts)[start:][: end or None]).text
    assert asked(text) == all_that_is_found(text)


def test_the_ibans_of_no_country_have_fewer_digits_than_their_detector_asks_for() -> None:
    lengths = {
        length for pair in product(ascii_uppercase, repeat=2) if (length := iban_length("".join(pair)))
    }
    (asked_for,) = [one.digits for _, one in DETECTORS if one.find.__name__ == "_find_ibans"]
    assert min(lengths) / 2 > asked_for - 1
