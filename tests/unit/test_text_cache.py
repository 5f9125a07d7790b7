"""Results that are kept by text: as many as they are told, and none of a long text."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

import pytest

from elf.core.same_fact import same_fact
from elf.core.secrets.identifiers import find_credential
from elf.core.secrets.json_redaction import redact_json
from elf.core.text_cache import text_cache
from elf.core.words import Stems

LONG = 20_000
TEXTS = 30


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def upper(calls: list[str]) -> Callable[[str], str]:
    @text_cache(max_texts=2, max_chars=3)
    def upper(text: str) -> str:
        """Return a text in capitals."""
        calls.append(text)
        return text.upper()

    return upper


def test_the_result_of_a_short_text_is_made_once(upper: Callable[[str], str], calls: list[str]) -> None:
    assert [upper("abc"), upper("abc")] == ["ABC", "ABC"]
    assert calls == ["abc"]


def test_the_result_of_a_long_text_is_not_kept(upper: Callable[[str], str], calls: list[str]) -> None:
    assert [upper("abcd"), upper("abcd")] == ["ABCD", "ABCD"]
    assert calls == ["abcd", "abcd"]


def test_the_text_that_was_not_used_for_longest_goes_first(
    upper: Callable[[str], str], calls: list[str]
) -> None:
    for text in ("a", "b", "a", "c", "a", "b"):
        upper(text)
    assert calls == ["a", "b", "c", "b"]


def test_a_decorated_function_keeps_its_name_and_description(upper: Callable[[str], str]) -> None:
    assert upper.__name__ == "upper"
    assert upper.__doc__ == "Return a text in capitals."


def long_key(number: int) -> object:
    return redact_json({f"{'key ' * (LONG // 4)}{number}": "tea"})


def long_identifier(number: int) -> object:
    return find_credential(f"{'path/' * (LONG // 5)}{number}")


def long_word(number: int) -> object:
    letters = "".join(chr(ord("a") + int(digit)) for digit in str(number))
    return same_fact(f"Ana likes {'tea' * (LONG // 3)}{letters}", "Ana likes tea")


STEMS = Stems()


def long_stem(number: int) -> object:
    return STEMS.of(["teas", f"{'tea' * (LONG // 3)}{number}"])


@pytest.mark.parametrize("read", [long_key, long_identifier, long_word, long_stem])
def test_long_texts_take_no_memory_once_they_have_been_read(read: Callable[[int], object]) -> None:
    read(0)
    gc.collect()
    tracemalloc.start()
    try:
        for number in range(1, TEXTS):
            read(number)
        gc.collect()
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 2 * LONG
