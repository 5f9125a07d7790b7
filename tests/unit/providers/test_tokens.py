"""Where tokens begin and end, and where the tokenizer comes from."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from elf.core.errors import StartupError
from elf.providers.local.model import TOKENIZER, find_model_folder
from elf.providers.tokens import HfTokens
from tests.providers_kit import embedding_config

PACKAGED = find_model_folder() / TOKENIZER.name
SHARED = HfTokens(Tokenizer.from_file(str(PACKAGED)))


@pytest.fixture(scope="module")
def tokens() -> HfTokens:
    return HfTokens.open("", embedding_config(api_base="local:", model="all-MiniLM-L6-v2"))


def pieces(tokens: HfTokens, text: str) -> list[str]:
    return [text[start:end] for start, end in tokens.spans(text)]


def test_spans_cut_out_words_and_word_pieces(tokens: HfTokens) -> None:
    assert pieces(tokens, "The unbelievable cat, sat.") == ["The", "unbelievable", "cat", ",", "sat", "."]
    assert pieces(tokens, "tokenizers") == ["token", "izer", "s"]


def test_a_tokenizer_is_named_by_what_it_does(tokens: HfTokens, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(PACKAGED.read_bytes())
    assert HfTokens.open(str(copy), embedding_config()).name == tokens.name
    changed = copy.read_text(encoding="utf-8").replace('"lowercase":true', '"lowercase":false')
    assert changed != copy.read_text(encoding="utf-8")
    copy.write_text(changed, encoding="utf-8")
    assert HfTokens.open(str(copy), embedding_config()).name != tokens.name


def test_offsets_count_code_points_not_bytes(tokens: HfTokens) -> None:
    assert pieces(tokens, "Caf\u00e9 \U0001f600 na\u00efve end") == [
        "Caf\u00e9",
        "\U0001f600",
        "na\u00efve",
        "end",
    ]


def test_there_are_no_special_tokens_and_no_limit_of_length(tokens: HfTokens) -> None:
    assert tokens.spans("") == []
    assert tokens.spans(" \n\t ") == []
    assert len(tokens.spans("word " * 3000)) == 3000


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_spans_lie_in_the_text_in_order(text: str) -> None:
    spans = SHARED.spans(text)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert [start for start, _ in spans] == sorted(start for start, _ in spans)


def word_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "one": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
@pytest.mark.parametrize("repo", ["", " ", "all-MiniLM-L6-v2"])
def test_a_remote_provider_of_the_packaged_model_uses_the_packaged_tokenizer(model: str, repo: str) -> None:
    assert pieces(HfTokens.open(repo, embedding_config(model=model)), "tokenizers") == ["token", "izer", "s"]


def test_a_file_or_a_folder_is_read_from_there(tmp_path: Path) -> None:
    word_tokenizer().save(str(tmp_path / "tokenizer.json"))
    for place in (tmp_path, tmp_path / "tokenizer.json"):
        own = HfTokens.open(str(place), embedding_config(api_base="local:"))
        assert pieces(own, "one tokenizers") == ["one", "tokenizers"]


def test_truncation_and_padding_of_the_file_do_not_apply(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=5)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert len(HfTokens.open(str(tmp_path), embedding_config()).spans("one one one")) == 3


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    shutil.copy(PACKAGED, tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_bytes(PACKAGED.read_bytes()[:1000])
    with pytest.raises(StartupError, match=rf"{tmp_path}/tokenizer.json cannot be read"):
        HfTokens.open(str(tmp_path), embedding_config())


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"tokenizer\.json cannot be read"):
        HfTokens.open(str(tmp_path), embedding_config())


class Hub:
    """Stands in for the library's class where it fetches from the hub."""

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    def from_pretrained(self, repo: str) -> Any:
        assert repo == "acme/model-of-acme"
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def test_another_repository_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elf.providers.tokens.Tokenizer", Hub(word_tokenizer()))
    assert pieces(HfTokens.open("", embedding_config(model="acme/model-of-acme")), "one two") == [
        "one",
        "two",
    ]


def test_a_repository_that_cannot_be_fetched_is_named_with_the_key_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("elf.providers.tokens.Tokenizer", Hub(OSError("offline")))
    with pytest.raises(
        StartupError, match=r"'acme/model-of-acme' cannot be fetched .*chunking\.tokenizer_repo"
    ):
        HfTokens.open("acme/model-of-acme", embedding_config(api_base="local:"))
