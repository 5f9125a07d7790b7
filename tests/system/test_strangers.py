"""Requests that say where they come from, or where they go to, in more than one way."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest

from tests.system.service import RunningService

FOREIGN = "https://evil.example"


def status_of(url: str, path: str, *headers: tuple[str, str], method: str = "GET") -> int:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=60)
    connection.putrequest(method, path, skip_host=True)
    for name, value in headers:
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize("front", ["url", "admin_url", "mcp_url"])
def test_no_second_header_lets_a_foreign_page_in(service: RunningService, front: str) -> None:
    url = getattr(service, front)
    host = ("Host", urlsplit(url).netloc)
    own = ("Origin", f"http://{host[1]}")
    assert status_of(url, "/health", host, own) == 200
    for origins in ([own, ("Origin", FOREIGN)], [("Origin", FOREIGN), own]):
        assert status_of(url, "/health", host, *origins) == (403 if front == "mcp_url" else 400)
    for hosts in ([host, ("Host", "evil.example")], [("Host", "evil.example"), host]):
        assert status_of(url, "/health", *hosts) == 400
    assert status_of(url, "http://evil.example/health", host) == 421
    assert status_of(url, "/health", ("Host", "evil.example")) == 421


@pytest.mark.parametrize("front", ["url", "admin_url", "mcp_url"])
def test_what_a_client_reads_as_another_host_is_not_this_one(service: RunningService, front: str) -> None:
    url = getattr(service, front)
    for sign in ("#", "/", "?", "\\", "@", " ", "%2f", ";", ","):
        for own in ("127.0.0.1", "localhost", urlsplit(url).netloc):
            assert status_of(url, "/health", ("Host", f"{own}{sign}.evil.example")) == 421, (own, sign)
    assert status_of(url, "/health", ("Host", "evil.example@127.0.0.1")) == 421
    assert status_of(url, "/health", ("Host", "")) == 421


@pytest.mark.parametrize("front", ["url", "admin_url", "mcp_url"])
def test_a_target_that_is_none_is_refused(service: RunningService, front: str) -> None:
    url = getattr(service, front)
    host = ("Host", urlsplit(url).netloc)
    for target in ("http://[", "http://[::1", "http://127.0.0.1:99999/health", "127.0.0.1", "http:///health"):
        assert status_of(url, target, host) == 400, target
    assert status_of(url, "/health", host, ("Content-Length", "0" * 5000)) == 400
    assert status_of(url, f"http://{host[1]}/health", host) == 200
