from __future__ import annotations

from typing import Any

import pytest
from data.planted_secrets import planted_secrets
from hypothesis import given
from hypothesis import strategies as st

from elf.core.secrets import find_secret, find_secrets, redact, redact_json, redacting_json

PLANTED = [one.text for one in planted_secrets(7)]
HEX = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
TOKEN = "gh" + "p_" + "a1B2c3D4e5" * 4


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("nothing to hide", "nothing to hide"),
        ("", ""),
        ("my password is hunter2!", "my password is [REDACTED:password]!"),
        (f"{TOKEN} and SSN 123-45-6789", "[REDACTED:github_token] and SSN [REDACTED:us_ssn]"),
        ("password: [REDACTED:password]", "password: [REDACTED:password]"),
        ("pin: 4821 [REDACTED:pin] pin: 9377", "pin: [REDACTED:pin] [REDACTED:pin] pin: [REDACTED:pin]"),
        ("4111\u200b111111111111 ok", "[REDACTED:card_number] ok"),
        ("password: [REDACTED:password]\nuser: bob1", "password: [REDACTED:password]\nuser: bob1"),
        ("password: [REDACTED:password] works", "password: [REDACTED:password] works"),
        ("password: [REDACTED:x] hunter2", "password: [REDACTED:x] [REDACTED:password]"),
        ("[REDACTED:" + TOKEN + "]", "[REDACTED:[REDACTED:github_token]]"),
        ("4111 1111 [REDACTED:pin] 1111 1111", "[REDACTED:card_number]"),
        ("DB_PASSWORD=hunter2\nDB_USER=bob1\n", "DB_PASSWORD=[REDACTED:password]\nDB_USER=bob1\n"),
    ],
)
def test_secrets_are_replaced_by_their_kind(text: str, redacted: str) -> None:
    assert redact(text) == redacted


@given(
    st.lists(st.sampled_from(PLANTED) | st.text(max_size=20), max_size=4),
    st.sampled_from(["", " ", "\n", ": "]),
)
def test_redaction_leaves_nothing_to_find(parts: list[str], glue: str) -> None:
    redacted = redact(glue.join(parts))
    assert find_secret(redacted) is None
    assert redact(redacted) == redacted


def test_a_line_in_which_each_cut_brings_the_next_secret_to_light_goes_as_a_whole() -> None:
    line = "password: " + "a1b2c3 " * 50
    redacted = redact(f"{line}\nsee you on Monday")
    assert redacted.endswith("[REDACTED:password]\nsee you on Monday")
    assert "a1b2c3" not in redacted
    assert redact(redacted) == redacted


def test_a_line_with_several_such_chains_goes_from_the_first_on() -> None:
    chain = "password: " + "a1b2c3 " * 50
    assert redact(chain + "and " + chain).count("a1b2c3") == 0


def test_a_text_that_is_never_clean_goes_as_a_whole() -> None:
    assert redact("password=x;a---" * 50) == "[REDACTED:password]"


def test_many_keys_with_one_secret_are_told_apart_quickly() -> None:
    keys = [f"SSN 123-45-{number:04}" for number in range(1, 6000)]
    assert len(redact_json(dict.fromkeys(keys, 1))) == len(keys)


def test_values_of_all_places_are_redacted() -> None:
    value = {"a": ["my password is hunter2", {"b": "SSN 123-45-6789"}], "c": None, "d": 2.5, "e": True}
    assert redact_json(value) == {
        "a": ["my password is [REDACTED:password]", {"b": "SSN [REDACTED:us_ssn]"}],
        "c": None,
        "d": 2.5,
        "e": True,
    }


@pytest.mark.parametrize(
    ("value", "redacted"),
    [
        ({"password": "hunter2"}, {"password": "[REDACTED:password]"}),
        ({"db_password": "swordfish"}, {"db_password": "[REDACTED:password]"}),
        ({"apiKey": ["f3b1c2d4e5a6"]}, {"apiKey": ["[REDACTED:credential]"]}),
        ({"pin": 4821}, {"pin": "[REDACTED:pin]"}),
        ({"ssn": 123456789}, {"ssn": "[REDACTED:us_ssn]"}),
        ({"card": 4111111111111111}, {"card": "[REDACTED:card_number]"}),
        (
            {"password": "required", "count": 1234567, "pin": 12},
            {"password": "required", "count": 1234567, "pin": 12},
        ),
        ("my password is hunter2", "my password is [REDACTED:password]"),
        (4111111111111111, "[REDACTED:card_number]"),
        ({"passwd_prod": "swordfish"}, {"passwd_prod": "[REDACTED:password]"}),
        (
            {"pwd_": "hunter2", "psw": "hunter2"},
            {"pwd_": "[REDACTED:password]", "psw": "[REDACTED:password]"},
        ),
        ({"value": HEX}, {"value": "[REDACTED:hex_key]"}),
        ({"commit": HEX, "imageDigest": HEX}, {"commit": HEX, "imageDigest": HEX}),
        ({HEX: [HEX]}, {"[REDACTED:hex_key]": ["[REDACTED:hex_key]"]}),
        ({"password": "[REDACTED:password]"}, {"password": "[REDACTED:password]"}),
        ({}, {}),
        ([], []),
    ],
)
def test_the_name_of_a_field_is_read_with_its_value(value: Any, redacted: Any) -> None:
    assert redact_json(value) == redacted


def test_keys_are_redacted_and_stay_apart() -> None:
    other = TOKEN[:-1] + "Z"
    value = {TOKEN: 1, "b": 2, other: 3}
    redacted = redact_json(value)
    assert redacted == {"[REDACTED:github_token]": 1, "b": 2, "[REDACTED:github_token] 2": 3}
    assert list(redacted.values()) == [1, 2, 3]


def test_the_original_is_not_changed() -> None:
    value = {"a": ["my password is hunter2"]}
    redact_json(value)
    assert value == {"a": ["my password is hunter2"]}


def test_deep_nesting_does_not_overflow_the_stack() -> None:
    value: Any = "my password is hunter2"
    for _ in range(20_000):
        value = [value]
    inner = redact_json(value)
    while isinstance(inner, list):
        (inner,) = inner
    assert inner == "my password is [REDACTED:password]"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(PLANTED),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=8,
    )
)
def test_no_string_of_redacted_json_holds_a_secret(value: Any) -> None:
    pending = [redact_json(value)]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            assert find_secret(item) is None
        elif isinstance(item, dict):
            pending += [*item, *item.values()]
        elif isinstance(item, list):
            pending += item


def test_redaction_of_json_gives_way_after_each_text() -> None:
    value = {"k": [f"plain text {number}" for number in range(100)], "n": list(range(20_000))}
    assert len(list(redacting_json(value))) > 300
    assert redact_json(value) == value


@given(
    st.lists(
        st.sampled_from(["key", "k 2", "AKIA" + "IOSFODNN7QWERTYU", "AKIA" + "IOSFODNN7QWERTYV"]), unique=True
    )
)
def test_keys_stay_in_their_order_and_apart(keys: list[str]) -> None:
    redacted = redact_json(dict.fromkeys(keys, 1))
    assert len(redacted) == len(keys)
    assert [name for name in redacted if name in keys] == [name for name in keys if name in redacted]


def test_a_text_in_which_each_cut_brings_the_next_secret_to_light_is_redacted_wholly() -> None:
    chain = "password: " + "a1b2c3 " * 2000
    assert find_secrets(redact(chain)) == []
