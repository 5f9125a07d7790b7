"""The config for servers."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from deployed import OPS, REPO

from elf.cli import main
from elf.config import load

SCALED = OPS / "elf.scaled.toml"


def keys(table: Mapping[str, Any], path: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict) and key != "default_headers":
            yield from keys(value, f"{path}{key}.")
        else:
            yield f"{path}{key}"


def test_elf_check_finds_it_fine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "-c", str(SCALED)]) == 0
    assert capsys.readouterr().out.startswith(f"{SCALED}: fine\n")


def test_it_names_servers_for_everything() -> None:
    config = load(SCALED)
    assert config.storage.postgres.place.kind == "server"
    assert config.storage.qdrant.place.kind == "server"
    providers = (config.providers.embedding, config.providers.rerank, config.providers.llm_extractor)
    assert [provider.provider_id for provider in providers if provider.is_local] == []


def test_each_of_its_keys_is_explained_in_the_example() -> None:
    own, example = (
        tomllib.loads(path.read_text(encoding="utf-8")) for path in (SCALED, REPO / "elf.example.toml")
    )
    in_comments = {"security.auth.keys"}
    assert set(keys(own)) - in_comments <= set(keys(example))


def test_it_holds_no_secret_but_those_that_ask_to_be_changed() -> None:
    config = load(SCALED)
    providers = (config.providers.embedding, config.providers.rerank, config.providers.llm_extractor)
    assert {provider.api_key for provider in providers} == {"change-me"}
    assert ":change-me@" in config.storage.postgres.dsn
    assert config.storage.qdrant.server is not None
    assert config.storage.qdrant.server.api_key == ""
