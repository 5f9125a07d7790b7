"""A front that others reach warns when every name leads to it."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from actors.fronts.host_names import visitors_of
from actors.fronts.http_front import bind
from elf.config import load
from elf.config.access import Access
from elf.config.places import Address

CONFIG = load(Path(__file__).resolve().parents[2] / "elf.example.toml")


@pytest.mark.parametrize(
    ("host", "access", "warns"),
    [
        ("0.0.0.0", None, True),
        ("0.0.0.0", Access(allowed_hosts=[]), False),
        ("0.0.0.0", Access(allowed_hosts=["elf.example.com"]), False),
        ("127.0.0.1", None, False),
    ],
)
def test_it_says_at_its_start_what_to_write(host: str, access: Access | None, warns: bool) -> None:
    service = CONFIG.service.model_copy(update={"access": access})
    with capture_logs() as logs, bind(Address(host, 0), key="service.http_bind") as sock:
        visitors = visitors_of("http_front", service, sock)
    assert visitors.serves_every_name == warns
    assert [line["event"] for line in logs] == ["serves_every_host_name"] * warns
    assert not warns or "allowed_hosts of [service.access]" in logs[0]["advice"]
