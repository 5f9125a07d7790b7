"""`elf model`: which models there are, and fetching one."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import CommandLine, Outcome

from elf.providers.local.catalog import MINILM
from elf.providers.local.model_cache import model_folder
from tests.model_caches import linked_cache

pytestmark = pytest.mark.slow


@pytest.fixture
def cache(elf: CommandLine) -> Path:
    """The cache that the config names, which is not there yet."""
    cache = elf.config.parent / "models"
    text = elf.config.read_text(encoding="utf-8")
    elf.config.write_text(text.replace('cache_dir = ""', 'cache_dir = "models"'), encoding="utf-8")
    return cache


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that is not there."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)


def test_list_says_what_a_model_is_and_whether_it_is_fetched(elf: CommandLine, cache: Path) -> None:
    told = elf("model list")
    assert (told.code, told.err) == (0, "")
    assert told.out.split() == [MINILM.name, "English", "84", "MB", "Apache-2.0", "not", "fetched"]
    assert not cache.exists()
    linked_cache(cache)
    assert elf("model list").out.split()[-1] == str(model_folder(MINILM, cache))


def test_list_is_data_for_programs(elf: CommandLine, cache: Path) -> None:
    (model,) = elf("model list", "--json").data["models"]
    assert model["folder"] is None
    assert (model["name"], model["languages"], model["download_bytes"]) == (
        MINILM.name, ["English"], MINILM.source.size,
    )  # fmt: skip
    assert model["architecture"]["width"] == MINILM.dimensions


def fetch(elf: CommandLine, *arguments: str) -> Outcome:
    """Run `elf model fetch` in a process of its own, whose log is that of the command."""
    command = [sys.executable, "-m", "elf", "model", "fetch", "-c", str(elf.config), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("name", [(), (MINILM.aliases[0],)], ids=["the config's", "by its alias"])
def test_fetch_prints_where_the_model_is_and_builds_its_graph(
    elf: CommandLine, cache: Path, name: tuple[str, ...]
) -> None:
    linked_cache(cache)
    told = fetch(elf, *name)
    assert (told.code, told.err) == (0, "")
    assert told.out.split()[-1] == str(model_folder(MINILM, cache))
    assert len([*cache.glob("*.onnx")]) == 1
    assert fetch(elf, "--json").data["folder"] == str(model_folder(MINILM, cache))


@pytest.mark.usefixtures("nowhere")
def test_fetch_without_a_network_ends_with_what_to_do(elf: CommandLine, cache: Path) -> None:
    told = fetch(elf)
    assert (told.code, told.out) == (3, "")
    started, problem = told.err.splitlines()
    assert started == f"elf: fetching the model {MINILM.name}, 84 MB"
    assert problem.startswith(f"elf: the model {MINILM.name} is not in {cache}")
    assert "http://127.0.0.1:9/simple cannot be reached" in problem


def test_a_name_that_no_model_has_is_a_wrong_usage(elf: CommandLine) -> None:
    told = elf("model fetch", "no-such-model")
    assert told.code == 2
    assert told.err.startswith(f"elf: there is no local model no-such-model; there is {MINILM.name}, ")


def test_a_config_without_a_local_model_asks_for_a_name(elf: CommandLine) -> None:
    text = elf.config.read_text(encoding="utf-8")
    remote = re.sub(r'(?m)^api_base = "local:"$', 'api_base = "https://models.example"', text)
    elf.config.write_text(remote, encoding="utf-8")
    told = elf("model fetch")
    assert told.code == 2
    assert told.err.startswith("elf: the config names no local model: name one of ")
