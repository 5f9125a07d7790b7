"""One call of a receiver: what it says, by whose library it is checked, and what counts as taken."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import httpcore
import pytest
import standardwebhooks
from hypothesis import given
from hypothesis import strategies as st

from elf.config.webhooks import Webhook
from elf.core.clock import SystemClock
from elf.webhooks.model import Event
from elf.webhooks.sending import NotDelivered, Receiver
from elf.webhooks.signing import signed_headers

pytestmark = pytest.mark.anyio

SECRET = f"whsec_{base64.b64encode(bytes(range(32))).decode()}"
NOTE = UUID(int=1)
EVENT = Event(
    outbox_id=UUID(int=2), event_id=UUID(int=3), event="changed", family="notes", kind="note", item_id=str(NOTE),
    tenant_id="acme", project_id="p", agent_id=None, user_id=None, extra={}, lane="notes",
    changed_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
)  # fmt: skip


class Noting(httpcore.AsyncMockBackend):
    """Answers with these bytes, and notes what was sent."""

    def __init__(self, *answer: bytes) -> None:
        super().__init__([*answer])
        self.sent = b""

    async def connect_tcp(self, *args: Any, **named: Any) -> httpcore.AsyncNetworkStream:
        stream = await super().connect_tcp(*args, **named)
        write = stream.write

        async def noted(buffer: bytes, timeout: float | None = None) -> None:
            self.sent += buffer
            await write(buffer, timeout)

        stream.write = noted  # type: ignore[method-assign]
        return stream


def receiver(network: httpcore.AsyncNetworkBackend, **fields: Any) -> Receiver:
    webhook = Webhook(
        name="one", url="http://127.0.0.1:9000/hook?of=elf", secret=SECRET, allow_private=True, **fields
    )
    return Receiver(webhook, SystemClock(), network=network)


def answer(status: str, *lines: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Length: 0", *lines, "", ""]).encode()


async def test_a_call_is_signed_so_that_the_librarys_own_check_takes_it() -> None:
    network = Noting(answer("204 No Content"))
    await receiver(network).send(EVENT)
    head, _, body = network.sent.partition(b"\r\n\r\n")
    line, *fields = head.decode().split("\r\n")
    headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
    assert line == "POST /hook?of=elf HTTP/1.1"
    assert headers["webhook-id"] == str(EVENT.event_id)
    assert standardwebhooks.Webhook(SECRET).verify(body, headers) == {
        "type": "item.changed",
        "timestamp": "2026-03-01T12:00:00Z",
        "data": {
            "family": "notes", "kind": "note", "item_id": str(NOTE), "tenant_id": "acme", "project_id": "p",
        },
    }  # fmt: skip


@given(
    body=st.binary(),
    key=st.binary(min_size=24, max_size=64),
    other=st.text(st.characters(codec="utf-8"), min_size=1),
)
def test_another_body_or_key_is_not_taken(body: bytes, key: bytes, other: str) -> None:
    content = json.dumps({"body": base64.b64encode(body).decode()}).encode()
    now = int(datetime.now(UTC).timestamp())
    headers = dict(signed_headers(key, message_id=NOTE, timestamp=now, body=content))
    standardwebhooks.Webhook(base64.b64encode(key).decode()).verify(content, headers)
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(base64.b64encode(key).decode()).verify(content + other.encode(), headers)
    turned = bytes([key[0] ^ 1]) + key[1:]
    with pytest.raises(standardwebhooks.WebhookVerificationError):
        standardwebhooks.Webhook(base64.b64encode(turned).decode()).verify(content, headers)


@pytest.mark.parametrize("status", ["200 OK", "202 Accepted", "204 No Content"])
async def test_it_is_taken_with_a_good_status(status: str) -> None:
    await receiver(Noting(answer(status))).send(EVENT)


@pytest.mark.parametrize(
    "status",
    [
        "301 Moved Permanently",
        "307 Temporary Redirect",
        "400 Bad Request",
        "404 Not Found",
        "410 Gone",
        "500 No",
    ],
)
async def test_any_other_status_is_none_and_no_redirect_is_followed(status: str) -> None:
    network = Noting(answer(status, "Location: http://127.0.0.1:9000/hook"), answer("200 OK"))
    with pytest.raises(NotDelivered, match=status[:3]):
        await receiver(network).send(EVENT)
    assert network.sent.count(b"POST") == 1


async def test_an_answer_that_is_none_or_breaks_off_is_not_taken() -> None:
    with pytest.raises(NotDelivered, match="broke off"):
        await receiver(Noting(b"hello\r\n\r\n")).send(EVENT)
    with pytest.raises(NotDelivered, match="broke off"):
        await receiver(Noting(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", b"")).send(EVENT)


@pytest.mark.parametrize("begins_with", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"])
async def test_one_that_does_not_answer_in_time_has_not_taken_it(begins_with: bytes) -> None:
    class Silent(httpcore.AsyncMockStream):
        said = False

        async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            if begins_with and not self.said:
                self.said = True
                return begins_with
            await httpcore.AnyIOBackend().sleep(60)
            return b""

    class Network(httpcore.AsyncMockBackend):
        async def connect_tcp(self, *args: Any, **named: Any) -> httpcore.AsyncNetworkStream:
            return Silent([])

    with pytest.raises(NotDelivered, match="within 100 ms"):
        await receiver(Network([]), timeout_ms=100).send(EVENT)
