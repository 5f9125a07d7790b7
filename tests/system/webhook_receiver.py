"""A receiver of webhooks behind a real socket, which a test steers: well, failing, hung, gone."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.system.fake_provider import FakeProvider
from tests.system.service import wait_for


@dataclass(frozen=True, slots=True)
class Heard:
    """A call: its id, when it was made, and what it said. `taken` when it was answered as it should be."""

    id: str
    timestamp: int
    type: str
    data: Mapping[str, Any]
    taken: bool

    @property
    def item(self) -> tuple[str, str, str]:
        return self.data["family"], self.data["kind"], self.data["item_id"]

    @property
    def event(self) -> str:
        return self.type.removeprefix("item.")


class WebhookReceiver(FakeProvider):
    """Notes each call whose signature is right, and refuses to go on with one whose is not."""

    def __init__(self, key: bytes | None = None) -> None:
        self.key = key or secrets.token_bytes(32)
        self.heard: list[Heard] = []
        self.forged: list[str] = []
        super().__init__(lambda _: {"ok": True})

    @property
    def secret(self) -> str:
        return f"whsec_{base64.b64encode(self.key).decode()}"

    def _hear(self, headers: Mapping[str, str], content: bytes, body: dict[str, Any]) -> None:
        super()._hear(headers, content, body)
        id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
        signed = hmac.new(self.key, f"{id}.{timestamp}.".encode() + content, hashlib.sha256).digest()
        if headers["webhook-signature"] != f"v1,{base64.b64encode(signed).decode()}":
            self.forged.append(id)
        taken = self._answer is self._well
        self.heard.append(Heard(id, int(timestamp), body["type"], body["data"], taken))

    def taken(self, **data: Any) -> list[Heard]:
        """Return what it has taken so far, of whose data these are."""
        return [one for one in [*self.heard] if one.taken and data.items() <= {**one.data}.items()]

    def wait_taken(self, number: int, **data: Any) -> list[Heard]:
        """Return what it has taken once there is so much of it."""
        return wait_for(
            lambda: found if len(found := self.taken(**data)) >= number else None,
            f"{number} events of {data}; there are {[one.type for one in self.taken(**data)]}",
        )

    def events(self, number: int, **data: Any) -> Sequence[str]:
        """Return what became of the item that these data name, once so much has."""
        return [one.event for one in self.wait_taken(number, **data)]


@contextmanager
def running_receiver() -> Iterator[WebhookReceiver]:
    receiver = WebhookReceiver()
    try:
        yield receiver
    finally:
        receiver.close()


def add_webhook(config: Path, name: str, receiver: WebhookReceiver, **lines: str) -> None:
    """Have a config tell a receiver; `lines` are further values as TOML writes them."""
    values = {
        "name": f'"{name}"',
        "url": f'"{receiver.api_base}/hook"',
        "secret": f'"{receiver.secret}"',
        "allow_private": "true",
    } | lines
    table = "".join(f"{key} = {value}\n" for key, value in values.items())
    config.write_text(f"{config.read_text(encoding='utf-8')}\n[[webhooks]]\n{table}", encoding="utf-8")
