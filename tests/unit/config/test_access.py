"""Whom a front serves, by the host names and the origins that a request names."""

from __future__ import annotations

from typing import Any

import pytest

from elf.config.access import Visitors

HERE = Visitors(local_only=True)
HERE_AND_NAMED = Visitors(local_only=True, allowed_hosts=["elf.example.com"])
NAMED = Visitors(local_only=False, allowed_hosts=["ELF.example.com", "api"])
UNNAMED = Visitors(local_only=False, allowed_hosts=[])
EVERYBODY = Visitors(local_only=False)


def request(*headers: tuple[str, str], target: str = "/v1/memory/search") -> dict[str, Any]:
    return {
        "raw_path": target.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in headers],
    }


@pytest.mark.parametrize(
    ("visitors", "host", "is_served"),
    [
        (HERE, "localhost:8765", True),
        (HERE, "127.0.0.1", True),
        (HERE, "[::1]:8765", True),
        (HERE, "192.0.2.7:8765", False),
        (HERE, "rebound.example:8765", False),
        (HERE, "", False),
        (HERE_AND_NAMED, "elf.example.com", True),
        (HERE_AND_NAMED, "rebound.example", False),
        (HERE_AND_NAMED, "192.0.2.7", False),
        (NAMED, "elf.EXAMPLE.com:8765", True),
        (NAMED, "elf.example.com.", True),
        (NAMED, "api", True),
        (NAMED, "192.0.2.7:8765", True),
        (NAMED, "[2001:db8::1]:8765", True),
        (NAMED, "localhost", True),
        (NAMED, "rebound.example", False),
        (NAMED, "elf.example.com.evil.example", False),
        (NAMED, "[", False),
        (UNNAMED, "192.0.2.7", True),
        (UNNAMED, "api", False),
        (EVERYBODY, "whatever.example", True),
        (EVERYBODY, "whatever.example/", False),
        (EVERYBODY, "", True),
        (HERE, "localhost:", True),
        (HERE, "localhost:65536", False),
        (HERE, "localhost:8765:8765", False),
        (HERE, "localhost:80a", False),
        (HERE, "::1", False),
        (HERE, "[::1", False),
        (HERE, "[localhost]", False),
        (HERE, "[::1]evil.example", False),
        (HERE, "localhost\u00a0", False),
        (HERE, "localhost\u0660", False),
        *(
            (visitors, f"{own}{sign}{end}", False)
            for visitors, own in (
                (HERE, "127.0.0.1"),
                (HERE, "localhost"),
                (NAMED, "elf.example.com"),
                (NAMED, "[::1]"),
            )
            for sign in "#/?\\@ ,;%&|\"'<>{}^`\t\x00\x7f\u00e9"
            for end in (".evil.example", "evil.example:80")
        ),
        *((HERE, f"{user}@localhost", False) for user in ("", "evil.example", "evil.example:80")),
    ],
)
def test_a_front_is_served_under_addresses_and_under_names_that_are_its_own(
    visitors: Visitors, host: str, is_served: bool
) -> None:
    refusal = visitors.refusal(request(("host", host)))
    assert (refusal is None) == is_served
    assert is_served or (refusal is not None and refusal.cause == "host")


def test_a_front_under_every_name_knows_that_it_is() -> None:
    assert [one.serves_every_name for one in (HERE, HERE_AND_NAMED, NAMED, UNNAMED, EVERYBODY)] == [
        False, False, False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize("visitors", [HERE, EVERYBODY])
@pytest.mark.parametrize(
    "ambiguous",
    [
        request(("host", "localhost"), ("host", "localhost")),
        request(("Host", "localhost"), ("host", "evil.example")),
        request(("host", "localhost"), target="http://evil.example/v1/memory/search"),
        request(("host", "localhost"), target="http://localhost@evil.example/v1/memory/search"),
        request(("host", "localhost"), target="http://localhost#.evil.example/v1/memory/search"),
        request(("host", "localhost"), target="http://localhost\\.evil.example/v1/memory/search"),
        request(("host", "localhost"), target="http://evil.example@localhost/v1/memory/search"),
    ],
)
def test_a_request_that_names_two_hosts_is_refused(visitors: Visitors, ambiguous: dict[str, Any]) -> None:
    refusal = visitors.refusal(ambiguous)
    assert refusal is not None
    assert refusal.cause == "host"


def test_a_request_whose_target_is_a_whole_url_of_its_host_is_served() -> None:
    assert HERE.refusal(request(("host", "localhost:8765"), target="http://LOCALHOST:8765/health")) is None


@pytest.mark.parametrize(
    ("origins", "is_served"),
    [
        (["http://localhost:3000"], True),
        (["https://elf.example.com"], True),
        (["https://evil.example"], False),
        (["null"], False),
        (["http://localhost#.evil.example"], False),
        (["http://localhost/.evil.example"], False),
        (["http://localhost\\.evil.example"], False),
        (["http://evil.example@localhost"], False),
        (["http://["], False),
        (["http://localhost:x"], False),
        (["localhost"], False),
        ([""], False),
        (["http://localhost", "https://evil.example"], False),
        (["https://evil.example", "http://localhost"], False),
        (["http://localhost", "http://localhost"], False),
        (["http://localhost, https://evil.example"], False),
        ([], True),
    ],
)
def test_the_page_of_another_site_is_refused_however_it_says_so(origins: list[str], is_served: bool) -> None:
    headers = [("host", "elf.example.com"), *(("origin", origin) for origin in origins)]
    refusal = NAMED.refusal(request(*headers))
    assert (refusal is None) == is_served
    assert is_served or (refusal is not None and refusal.cause == "origin")
