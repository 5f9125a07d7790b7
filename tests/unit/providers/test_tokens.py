"""Where tokens begin and end, and where the tokenizer comes from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs
from tokenizers import Tokenizer, models, pre_tokenizers

from elf.config.optional import LocalModel
from elf.core.chunking import WINDOW_CHARS
from elf.core.errors import StartupError
from elf.providers import hub
from elf.providers.tokens import HfTokens
from tests.model_caches import TOKENIZER, shared_model
from tests.providers_kit import embedding_config

pytestmark = pytest.mark.slow

NOWHERE = LocalModel(cache_dir="/nowhere")  # a tokenizer of one's own needs no cache
PACKAGED = shared_model() / TOKENIZER
SHARED = HfTokens(Tokenizer.from_file(str(PACKAGED)))


@pytest.fixture(scope="module")
def tokens() -> HfTokens:
    return HfTokens.open("", embedding_config(api_base="local:", model="all-MiniLM-L6-v2"), LocalModel())


def kept_in(folder: Path) -> LocalModel:
    return LocalModel(cache_dir=str(folder))


def pieces(tokens: HfTokens, text: str) -> list[str]:
    return [text[start:end] for start, end in tokens.spans(text)]


def test_spans_cut_out_words_and_word_pieces(tokens: HfTokens) -> None:
    assert pieces(tokens, "The unbelievable cat, sat.") == ["The", "unbelievable", "cat", ",", "sat", "."]
    assert pieces(tokens, "tokenizers") == ["token", "izer", "s"]


def test_a_tokenizer_is_named_by_what_it_does(tokens: HfTokens, tmp_path: Path) -> None:
    copy = tmp_path / "copy.json"
    copy.write_bytes(PACKAGED.read_bytes())
    assert HfTokens.open(str(copy), embedding_config(), kept_in(tmp_path)).name == tokens.name
    changed = copy.read_text(encoding="utf-8").replace('"lowercase":true', '"lowercase":false')
    assert changed != copy.read_text(encoding="utf-8")
    copy.write_text(changed, encoding="utf-8")
    assert HfTokens.open(str(copy), embedding_config(), kept_in(tmp_path)).name != tokens.name


@pytest.mark.parametrize(
    "words", [["Tokyo", "ünder", "東京", "e\u0301", "🫖,", "unbelievable.", "3.5"], ["x" * 99, "y"]]
)
def test_a_text_in_windows_has_the_tokens_of_the_whole_text(tokens: HfTokens, words: list[str]) -> None:
    text = "\n ".join(words * 2000)
    assert len(text) > 2 * WINDOW_CHARS
    assert tokens.spans(text) == tokens._spans(text)


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
    assert pieces(HfTokens.open(repo, embedding_config(model=model), LocalModel()), "tokenizers") == [
        "token",
        "izer",
        "s",
    ]


def test_a_file_or_a_folder_is_read_from_there(tmp_path: Path) -> None:
    word_tokenizer().save(str(tmp_path / "tokenizer.json"))
    for place in (tmp_path, tmp_path / "tokenizer.json"):
        own = HfTokens.open(str(place), embedding_config(api_base="local:"), NOWHERE)
        assert pieces(own, "one tokenizers") == ["one", "tokenizers"]


def test_truncation_and_padding_of_the_file_do_not_apply(tmp_path: Path) -> None:
    tokenizer = word_tokenizer()
    tokenizer.enable_truncation(2)
    tokenizer.enable_padding(length=5)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    assert len(HfTokens.open(str(tmp_path), embedding_config(), NOWHERE).spans("one one one")) == 3


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    shutil.copy(PACKAGED, tmp_path / "tokenizer.json")
    (tmp_path / "tokenizer.json").write_bytes(PACKAGED.read_bytes()[:1000])
    with pytest.raises(StartupError, match=rf"{tmp_path}/tokenizer.json cannot be read"):
        HfTokens.open(str(tmp_path), embedding_config(), NOWHERE)


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(StartupError, match=r"tokenizer\.json cannot be read"):
        HfTokens.open(str(tmp_path), embedding_config(), NOWHERE)


class Hub(BaseHTTPRequestHandler):
    """Stands in for the hub: it has one repository, and sends who asks for its tokenizer on to where that lies."""

    content = word_tokenizer().to_str().encode()
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        if self.path == "/acme/model-of-acme/resolve/main/tokenizer.json":
            self.send_response(302)
            self.send_header("location", "/elsewhere")
        else:
            self.send_response(200 if self.path == "/elsewhere" else 404)
        self.end_headers()
        if self.path == "/elsewhere":
            self.wfile.write(self.content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What the hub is asked for. Variables of the environment lead elsewhere."""
    Hub.asked.clear()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "HF_ENDPOINT", "SSL_CERT_FILE", "HF_HUB_OFFLINE"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server, ThreadPoolExecutor(1) as threads:
        threads.submit(server.serve_forever)
        monkeypatch.setattr(hub, "URL", f"http://127.0.0.1:{server.server_port}")
        yield Hub.asked
        server.shutdown()


def test_another_repository_is_fetched_once_whatever_the_environment_says(
    asked: list[str], tmp_path: Path
) -> None:
    for _ in range(2):
        own = HfTokens.open("", embedding_config(model="acme/model-of-acme"), kept_in(tmp_path / "kept"))
        assert pieces(own, "one two") == ["one", "two"]
    assert asked == ["/acme/model-of-acme/resolve/main/tokenizer.json", "/elsewhere"]
    assert [path.name for path in (tmp_path / "kept").rglob("*.json")] == ["tokenizer.json"]


def test_a_folder_that_cannot_be_written_keeps_nothing(asked: list[str], tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("a file")
    with capture_logs() as logs:
        own = HfTokens.open("acme/model-of-acme", embedding_config(), kept_in(tmp_path / "kept"))
    assert pieces(own, "one two") == ["one", "two"]
    assert [line["event"] for line in logs] == ["tokenizer_not_kept"]


@pytest.mark.parametrize(
    ("repo", "why"),
    [("acme/none", "HTTP 404"), ("../../no-such-folder", "no such name"), ("a/b/c", "no such name")],
)
def test_a_repository_that_cannot_be_fetched_is_named_with_the_key_to_set(
    asked: list[str], tmp_path: Path, repo: str, why: str
) -> None:
    with pytest.raises(StartupError, match=rf"'{repo}' cannot be fetched .*{why}.*chunking\.tokenizer_repo"):
        HfTokens.open(repo, embedding_config(api_base="local:"), kept_in(tmp_path))


def test_a_hub_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hub, "URL", "http://127.0.0.1:1")
    with pytest.raises(StartupError, match=r"from http://127\.0\.0\.1:1 \(ConnectError\)"):
        HfTokens.open("acme/model-of-acme", embedding_config(), kept_in(tmp_path))


def test_what_is_no_tokenizer_is_named(
    asked: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hub, "content", b"<html>sign in</html>")
    with pytest.raises(StartupError, match="the tokenizer 'acme/model-of-acme' cannot be read"):
        HfTokens.open("acme/model-of-acme", embedding_config(), kept_in(tmp_path))
    assert list(tmp_path.iterdir()) == []
