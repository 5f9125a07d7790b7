"""Addresses, DSNs and URLs: what is taken, what is refused, and what is shown of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.config.places import (
    Address,
    IndexPlace,
    PostgresPlace,
    check_url,
    is_loopback,
    masked,
    parse_address,
    parse_folder,
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8765", Address("127.0.0.1", 8765)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:65535", Address("::1", 65535)),
        ("elf-api.internal:80", Address("elf-api.internal", 80)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, address: Address) -> None:
    assert parse_address(text) == address
    assert str(address) == text


@pytest.mark.parametrize(
    "text",
    ["", ":", "localhost", ":80", "localhost:", "localhost:-1", "localhost:65536", "localhost:8 0", "::1:80",
     "[::1]", "[::1", "[localhost]:80", "a b:80", "localhost:٣", "http://localhost:80", "localhost:80/", "a:1:2"],
)  # fmt: skip
def test_anything_else_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match="must be host:port"):
        parse_address(text)


@given(st.text(max_size=30))
def test_an_address_is_read_or_refused(text: str) -> None:
    try:
        address = parse_address(text)
    except ValueError:
        return
    assert parse_address(str(address)) == address


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1"])
def test_loopback_addresses_are_of_this_machine_alone(host: str) -> None:
    assert is_loopback(Address(host, 1))


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "::ffff:10.0.0.1", "localhost.example", "127.0.0.1.example"]
)
def test_every_other_address_may_be_reached_from_outside(host: str) -> None:
    assert not is_loopback(Address(host, 1))


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://elf@localhost/elf",
        "postgres://elf:secret@db:5432/elf",
        "postgresql://elf@db1:5432,db2:5433/elf",
        "postgresql://elf@/elf?host=/run/postgresql",
        "postgresql:///elf?host=/run/postgresql&user=elf",
        "postgresql://elf@db?dbname=elf",
    ],
)
def test_a_dsn_that_says_who_connects_to_what_is_a_server(dsn: str) -> None:
    assert PostgresPlace.parse(dsn) == PostgresPlace("server", None, dsn)


@pytest.mark.parametrize(
    "dsn",
    ["", "postgresql://", "postgresql://db/elf", "postgresql://elf@/elf", "postgresql://elf@db", "elf@db/elf",
     "postgresql://elf@[::1/elf", "postgresql://elf@db/elf\n"],
)  # fmt: skip
def test_a_dsn_that_leaves_something_to_the_environment_is_refused(dsn: str) -> None:
    with pytest.raises(
        ValueError, match="must be embedded:FOLDER or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
    ):
        PostgresPlace.parse(dsn)


def test_embedded_places_have_a_folder() -> None:
    assert PostgresPlace.parse("embedded: data/pg ").folder == Path("data/pg")
    assert IndexPlace.parse("edge:/var/lib/index").folder == Path("/var/lib/index")
    assert IndexPlace.parse("pgvector:").folder is None


@pytest.mark.parametrize("text", ["", "  ", "~/x", "a\0b"])
def test_a_folder_that_cannot_be_meant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must name a folder"):
        parse_folder(text)


@pytest.mark.parametrize(
    "url", ["http://", "https://:80", "http://a b", "http://[::1", "file:///x", "http://x:y"]
)
def test_a_url_needs_a_scheme_and_a_host(url: str) -> None:
    with pytest.raises(ValueError, match="must begin with http:// or https:// and name a host"):
        check_url(url)


def test_passwords_and_keys_in_urls_are_masked() -> None:
    assert masked("postgresql://elf:p:@ss@db/elf") == "postgresql://elf:***@db/elf"
    assert masked("postgresql://elf@db/elf?password=x&sslmode=require") == (
        "postgresql://elf@db/elf?password=***&sslmode=require"
    )
    assert masked("https://qdrant:6333?api-key=x") == "https://qdrant:6333?api-key=***"
    assert masked("edge:.elf/index") == "edge:.elf/index"
