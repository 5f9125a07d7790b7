"""What a config names is what gets built."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from elf.config import load
from elf.config.model import Config
from elf.config.packaged import CONSOLIDATOR_NAME
from elf.core.errors import StartupError
from elf.families.notes.writing.extraction import ExtractionLimits, extraction_prompt
from elf.families.notes.writing.local_extraction import RULE_BASED_EXTRACTION
from elf.providers.chat import HttpChat
from elf.providers.embedding import HttpEmbedder
from elf.providers.factory import open_consolidator, open_embedder, open_extractor, open_providers
from elf.providers.http import ProviderHttp
from elf.providers.local.answers import LocalAnswer
from elf.providers.port import JsonAnswer, Prompt
from elf.providers.rerank import HttpReranker

pytestmark = pytest.mark.anyio

EXAMPLE = Path(__file__).parents[3] / "elf.example.toml"


def config_with(**tables: dict[str, Any]) -> Config:
    """The example config with changed provider tables."""
    config = load(EXAMPLE)
    changed = {
        name: getattr(config.providers, name).model_copy(update=changes) for name, changes in tables.items()
    }
    return config.model_copy(update={"providers": config.providers.model_copy(update=changed)})


async def test_local_providers_share_the_packaged_model_and_its_token_cache(cache_folder: Path) -> None:
    config = load(EXAMPLE)
    local = config.local_model.model_copy(update={"cache_dir": str(cache_folder)})
    async with await open_providers(config.model_copy(update={"local_model": local})) as providers:
        matrix = await providers.embedder.embed(["The heron eats fish.", "Stocks fell."])
        assert matrix.shape == (2, 384)
        assert providers.embedder.version == "local:all-MiniLM-L6-v2:384"
        high, low = await providers.reranker.rerank(
            "Which bird eats fish?", ["The heron eats fish.", "Stocks fell."]
        )
        assert high > low


async def test_a_process_that_works_has_a_language_model_where_the_config_names_one() -> None:
    remote = {"api_base": "https://models.example/api/v1", "api_key": "k"}
    async with (
        open_extractor(load(EXAMPLE)) as by_rules,
        open_extractor(config_with(llm_extractor=remote)) as model,
    ):
        assert by_rules is None
        assert isinstance(model, HttpChat)


async def test_tokens_are_compared_where_the_config_says_so(cache_folder: Path) -> None:
    config = load(EXAMPLE)
    local = config.local_model.model_copy(update={"cache_dir": str(cache_folder)})
    compared = config.model_copy(update={"local_model": local})
    without = compared.model_copy(update={"search": config.search.model_copy(update={"rerank": None})})
    async with await open_providers(compared) as providers:
        assert providers.late is not None
    async with await open_providers(without) as providers:
        assert providers.late is None
    async with open_embedder(compared) as (embedder, late):
        assert late is not None
        assert (await embedder.embed(["The heron eats fish."])).shape == (1, 384)


async def test_remote_providers_load_no_model(tmp_path: Path) -> None:
    remote = {"api_base": "https://models.example"}
    config = config_with(embedding=remote, rerank=remote)
    local = config.local_model.model_copy(update={"cache_dir": str(tmp_path / "model")})
    async with await open_providers(config.model_copy(update={"local_model": local})) as providers:
        assert isinstance(providers.embedder, HttpEmbedder)
        assert isinstance(providers.reranker, HttpReranker)
    assert not (tmp_path / "model").exists()


async def test_a_local_extractor_alone_loads_no_model(tmp_path: Path) -> None:
    remote = {"api_base": "https://models.example"}
    config = config_with(embedding=remote, rerank=remote)
    local = config.local_model.model_copy(update={"cache_dir": str(tmp_path / "model")})
    prompt = extraction_prompt(
        [{"role": "user", "content": "I prefer tea."}],
        ExtractionLimits(max_notes=3, max_note_chars=240, scopes=["agent_private"]),
    )
    changed = config.model_copy(update={"local_model": local})
    async with await open_providers(changed, local_answers=[RULE_BASED_EXTRACTION]) as providers:
        notes = await providers.extractor.ask(prompt, JsonAnswer("notes", {}, lambda value: value["notes"]))
    assert [note["text"] for note in notes] == ["Preference: I prefer tea."]
    assert not (tmp_path / "model").exists()


def test_the_factory_alone_imports_no_model_runtime() -> None:
    program = "import sys, elf.providers.factory; print('onnxruntime' in sys.modules, 'onnx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


async def test_a_provider_that_cannot_be_built_is_a_startup_error() -> None:
    unusable = {"api_base": "http://192.168.1.999"}
    with pytest.raises(StartupError, match=r"providers\.rerank\.api_base"):
        await open_providers(config_with(embedding={"api_base": "https://models.example"}, rerank=unusable))


async def test_closing_closes_every_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []

    async def aclose(http: ProviderHttp) -> None:
        closed.append(http.label)

    monkeypatch.setattr(ProviderHttp, "aclose", aclose)
    remote = {"api_base": "https://models.example"}
    providers = await open_providers(config_with(embedding=remote, rerank=remote))
    await providers.aclose()
    assert closed == [
        "providers.embedding (local)",
        "providers.rerank (local)",
        "providers.llm_extractor (local)",
    ]


async def test_a_consolidator_is_there_where_the_config_names_one() -> None:
    config = load(EXAMPLE)
    without = config.providers.model_copy(update={"llm_consolidator": None})
    async with open_consolidator(config.model_copy(update={"providers": without})) as chat:
        assert chat is None
    rules = LocalAnswer(model=CONSOLIDATOR_NAME, knows=lambda _: True, answer=lambda prompt: prompt.user)
    async with open_consolidator(config, local_answers=[rules]) as chat:
        assert chat is not None
        assert await chat.text(Prompt("", "{}")) == "{}"
