"""Where the tokens of a text begin and end, as the embedding model counts them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import blake3
from tokenizers import Tokenizer

from elf.config.model import EmbeddingProvider
from elf.config.optional import LocalModel
from elf.core.chunking import spans_in_windows
from elf.core.errors import StartupError
from elf.providers.hub import FILE, tokenizer_of
from elf.providers.local.catalog import find_model
from elf.providers.local.model_cache import cache_folder, fetch_model


class HfTokens:
    """Tokens of a Hugging Face tokenizer, without special tokens and without a limit of length."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Takes the tokenizer over: its truncation and padding are switched off."""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer

    @cached_property
    def name(self) -> str:
        """A short name for what the tokenizer does: that of its contents, wherever they came from."""
        return blake3.blake3(self._tokenizer.to_str().encode()).hexdigest(length=6)

    @classmethod
    def open(cls, tokenizer_repo: str, embedding: EmbeddingProvider, cached: LocalModel) -> HfTokens:
        """Load the tokenizer that `chunking.tokenizer_repo` names; empty means the embedding model's own.

        That of a local model comes with the model, which is fetched if need be, and one in a local file or folder from
        there; any other is fetched from the Hugging Face hub and then kept in the model cache.
        Raises StartupError when it cannot be had.
        """
        repo = tokenizer_repo.strip() or embedding.model
        if (model := find_model(repo)) is not None:
            folder = fetch_model(model, cache_folder(cached), proven=(model.tokenizer,))
            return cls(_from_file(folder / model.tokenizer.name))
        path = Path(repo)
        if path.exists():
            return cls(_from_file(path / FILE if path.is_dir() else path))
        return cls(tokenizer_of(repo, cache_folder(cached) / "tokenizers"))

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the code-point offsets [start, end) of each token, in order.

        Parts of the text that are no token (white space, control characters) lie in no span; a character that
        becomes several tokens has several spans. A long text is read window by window, so that other threads go on in
        between.
        """
        return spans_in_windows(text, self._spans)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        offsets: list[tuple[int, int]] = encoding.offsets
        return offsets


def _from_file(path: Path) -> Tokenizer:
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises Exception itself
        raise StartupError(f"the tokenizer file {path} cannot be read: {error}") from error
