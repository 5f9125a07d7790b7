"""The write gate: each rule, their order, and silence about the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.secrets import find_secret, is_plain_name
from elf.families.notes.writing.write_rules import WriteGate
from tests.notes_kit import scope_rules

GATE = WriteGate(scope_rules(org_shared=False), max_note_chars=40)
CJK = "\u4e2d"
SECRET = "AKIAIOSFODNN7QWERTYU"
LONG = "x" * 41


def code(
    text: str = "Fact: ok.", *, type: str = "fact", scope: str = "project_shared", key: str | None = None
) -> str | None:
    rejection = GATE.check(type=type, scope=scope, key=key, text=text)
    return None if rejection is None else rejection.code


def test_a_plain_note_passes() -> None:
    assert code() is None
    assert code("x" * 40) is None
    assert code(key="preferred_language") is None


@pytest.mark.parametrize("text", ["", " ", "\t\n\u00a0\u2003"])
def test_an_empty_text_is_rejected(text: str) -> None:
    assert code(text) == "REJECT_EMPTY"


@pytest.mark.parametrize(("text", "key"), [(f"Fact: {CJK}", None), ("Fact: ok.", f"k{CJK}")])
def test_cjk_in_text_or_key_is_rejected(text: str, key: str | None) -> None:
    assert code(text, key=key) == "REJECT_CJK"


def test_length_counts_code_points() -> None:
    assert code("\U0001f600" * 40) is None
    assert code(LONG) == "REJECT_TOO_LONG"


@pytest.mark.parametrize("type", ["", "Fact", "note", "fact "])
def test_an_unknown_type_is_rejected(type: str) -> None:
    assert code(type=type) == "REJECT_INVALID_TYPE"


@pytest.mark.parametrize("scope", ["", "world", "org_shared"])
def test_an_unknown_scope_and_one_that_may_not_be_written_are_rejected(scope: str) -> None:
    assert code(scope=scope) == "REJECT_SCOPE_DENIED"


@pytest.mark.parametrize(("text", "key"), [(f"Fact: {SECRET}", None), ("Fact: ok.", SECRET)])
def test_a_secret_in_text_or_key_is_rejected(text: str, key: str | None) -> None:
    assert code(text, key=key) == "REJECT_SECRET"


@pytest.mark.parametrize(("text", "key"), [("hunter2", "db_password"), ("4711", "card-pin")])
def test_a_key_that_makes_its_text_a_secret_is_noticed(text: str, key: str) -> None:
    assert code(text, key=None) is None
    assert code(text, key=key) == "REJECT_SECRET"
    rejection = GATE.check_update(text=text, key=key)
    assert rejection is not None
    assert rejection.code == "REJECT_SECRET"


@pytest.mark.parametrize(
    ("text", "key"),
    [("12 characters", "password_policy"), ("4096", "token_limit"), ("It lives in the vault.", "api_key")],
)
def test_a_key_that_only_speaks_of_secrets_passes(text: str, key: str) -> None:
    assert code(text, key=key) is None


@pytest.mark.parametrize(
    ("text", "type", "scope", "expected"),
    [
        (" " * 41, "no", "no", "REJECT_EMPTY"),
        (LONG + CJK, "no", "no", "REJECT_CJK"),
        (f"{SECRET} {LONG}", "no", "no", "REJECT_TOO_LONG"),
        (SECRET, "no", "no", "REJECT_INVALID_TYPE"),
        (SECRET, "fact", "no", "REJECT_SCOPE_DENIED"),
        (SECRET, "fact", "org_shared", "REJECT_SCOPE_DENIED"),
        (SECRET, "fact", "project_shared", "REJECT_SECRET"),
    ],
)
def test_the_first_broken_rule_is_named(text: str, type: str, scope: str, expected: str) -> None:
    assert code(text, type=type, scope=scope) == expected


@given(st.text(alphabet="qzQZ" + CJK, min_size=4, max_size=60), st.sampled_from(["fact", "nothing"]))
def test_a_reason_never_repeats_the_text(text: str, type: str) -> None:
    rejection = GATE.check(type=type, scope="project_shared", key=None, text=text)
    assert rejection is None or text not in rejection.reason


def test_the_reason_for_a_secret_names_its_kind_only() -> None:
    rejection = GATE.check(type="fact", scope="project_shared", key=None, text=f"Fact: {SECRET}")
    assert rejection is not None
    assert "aws" in rejection.reason
    assert SECRET not in rejection.reason


def test_an_update_is_checked_for_its_text_alone() -> None:
    assert GATE.check_update(text="Fact: ok.", key="k") is None
    codes = {
        text: rejection.code
        for text in (" ", CJK, LONG, SECRET)
        if (rejection := GATE.check_update(text=text, key=None)) is not None
    }
    assert codes == {
        " ": "REJECT_EMPTY", CJK: "REJECT_CJK", LONG: "REJECT_TOO_LONG", SECRET: "REJECT_SECRET",
    }  # fmt: skip


def test_a_note_without_a_key_is_read_as_what_stands_behind_a_colon_too() -> None:
    text = "12 main street and no more"
    assert (find_secret(text), code(text)) == (None, "REJECT_SECRET")


WORDS = st.sampled_from(
    [
        "password",
        "pin",
        "key",
        "api",
        "secret",
        "sk",
        "live",
        "test",
        "hf",
        "pat",
        "sb",
        "ssn",
        "abandon",
        "zoo",
    ]
) | st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=9)


@given(st.lists(WORDS, min_size=1, max_size=5).map("_".join), st.integers(0, 9999))
def test_no_secret_is_like_a_plain_key(words: str, number: int) -> None:
    for key in (words, f"{words}_{number}"):
        if is_plain_name(key):
            assert find_secret(key) is None
