"""[[webhooks]]: which receivers are taken, and that no fault shows a secret."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.config import loads
from elf.config.webhooks import Webhook
from elf.core.errors import ConfigError

EXAMPLE = Path(__file__).resolve().parents[3] / "elf.example.toml"
SECRET = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"


def load_with(*webhooks: dict[str, str]) -> list[Webhook]:
    """Load the example with webhooks whose values are as TOML writes them."""
    text = EXAMPLE.read_text()
    for changes in webhooks:
        lines = {
            "name": '"audit"', "url": '"https://hooks.example.com/elf"', "secret": f'"{SECRET}"',
        } | changes  # fmt: skip
        text += "\n[[webhooks]]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items())
    return loads(text, source="elf.toml").webhooks


def refusal(*webhooks: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as caught:
        load_with(*webhooks)
    return str(caught.value)


def test_without_more_it_is_told_of_everything() -> None:
    (webhook,) = load_with({})
    assert (webhook.families, webhook.events, webhook.tenants) == (None, None, None)
    assert webhook.key == bytes(range(32))
    assert SECRET not in repr(webhook)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("name", '"Audit"'),
        ("name", '"a-b"'),
        ("name", '"' + "a" * 41 + '"'),
        ("url", '"ftp://example.com/"'),
        ("url", '"example.com"'),
        ("url", '"http://hooks.example.com/"'),
        ("url", '"https://me:password1@example.com/"'),
        ("url", '"https://example.com:99999/"'),
        ("url", '"https://127.0.0.1/"'),
        ("url", '"https://10.1.2.3/"'),
        ("url", '"https://[::1]/"'),
        ("url", '"https://[64:ff9b::7f00:1]/"'),
        ("url", '"https://localhost:8443/"'),
        ("events", "[]"),
        ("max_backlog", "0"),
        ("max_backlog", "10000001"),
        ("max_backlog", '"many"'),
        ("max_backlog", "1.5"),
        ("max_backlog_age_s", "59"),
        ("max_backlog_age_s", "31622401"),
        ("max_backlog_age_s", "true"),
        ("url", '"https://[fec0::1]/"'),
        ("url", '"https://[::ffff:0:10.0.0.1]/"'),
        ("url", '"https://192.0.0.8/"'),
        ("events", '["deleted"]'),
        ("families", "[]"),
        ("timeout_ms", "10"),
        ("attempts", "0"),
        ("unknown", "1"),
    ],
)
def test_what_it_does_not_take_is_refused_by_its_key(key: str, value: str) -> None:
    message = refusal({key: value})
    assert key in message
    assert "password1" not in message


@pytest.mark.parametrize(
    "secret",
    ["", "whsec_", "whsec_c2hvcnQ=", "whsec_not base64", SECRET.removeprefix("whsec_"), SECRET + "="],
)
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str) -> None:
    message = refusal({"secret": f'"{secret}"'})
    assert "webhooks[0].secret" in message
    assert len(secret) < 8 or secret not in message


@given(size=st.integers(0, 100))
def test_a_secret_has_24_to_64_bytes(size: int) -> None:
    secret = f"whsec_{base64.b64encode(bytes(size)).decode()}"
    if 24 <= size <= 64:
        assert load_with({"secret": f'"{secret}"'})[0].key == bytes(size)
    else:
        assert "24 to 64 bytes" in refusal({"secret": f'"{secret}"'})


def test_a_private_network_is_called_where_that_is_allowed() -> None:
    (webhook,) = load_with({"url": '"http://127.0.0.1:8080/hook"', "allow_private": "true"})
    assert webhook.allow_private


def test_how_much_may_wait_and_how_long_is_bounded_and_may_be_changed() -> None:
    (usual,) = load_with({})
    assert (usual.max_backlog, usual.max_backlog_age_s) == (100_000, 7 * 86_400)
    (other,) = load_with({"max_backlog": "1", "max_backlog_age_s": "60"})
    assert (other.max_backlog, other.max_backlog_age_s) == (1, 60)
    assert "webhooks[0].max_backlog" in refusal({"max_backlog": "0"})


def test_two_of_one_name_are_refused() -> None:
    assert "two webhooks are called audit" in refusal({}, {})
