"""Tokenizers of the Hugging Face hub, each fetched once and kept in a folder of ours.

The hub's own client would keep them in the user's home, and is configured by a dozen variables of the environment.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Final

import httpx
import structlog
from tokenizers import Tokenizer

from elf.core.errors import StartupError

URL: Final = "https://huggingface.co"
FILE: Final = "tokenizer.json"
TIMEOUT_S: Final = 30.0
LARGEST_BYTES: Final = 100_000_000
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:/[A-Za-z0-9][A-Za-z0-9._-]*)?")

_log = structlog.get_logger()


def tokenizer_of(repository: str, folder: Path) -> Tokenizer:
    """Return a repository's tokenizer, from `folder` when it is there, else from the hub.

    A folder that cannot be written keeps nothing, which is logged. Raises StartupError when it cannot be had.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise _failure(repository, "no such name is possible")
    kept = folder / repository.replace("/", "--") / FILE
    if kept.is_file():
        return _read(repository, kept.read_bytes())
    try:
        content = _fetched(f"{URL}/{repository}/resolve/main/{FILE}")
    except httpx.HTTPStatusError as error:
        raise _failure(repository, f"HTTP {error.response.status_code}") from error
    except httpx.HTTPError as error:
        raise _failure(repository, type(error).__name__) from error
    tokenizer = _read(repository, content)
    _keep(content, kept)
    return tokenizer


def _fetched(url: str) -> bytes:
    with (
        httpx.Client(trust_env=False, follow_redirects=True, timeout=TIMEOUT_S) as http,
        http.stream("GET", url) as response,
    ):
        response.raise_for_status()
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > LARGEST_BYTES:
                raise httpx.DecodingError(f"more than {LARGEST_BYTES} bytes")
        return bytes(content)


def _read(repository: str, content: bytes) -> Tokenizer:
    try:
        return Tokenizer.from_buffer(content)
    except Exception as error:  # the library raises Exception itself
        raise StartupError(f"the tokenizer {repository!r} cannot be read: {error}") from error


def _keep(content: bytes, file: Path) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=file.parent, delete=False) as written:
            written.write(content)
        os.replace(written.name, file)  # at once: other processes may start meanwhile
    except OSError as error:
        _log.warning("tokenizer_not_kept", folder=str(file.parent), error=error.strerror)


def _failure(repository: str, why: str) -> StartupError:
    return StartupError(
        f"the tokenizer {repository!r} cannot be fetched from {URL} ({why}); set chunking.tokenizer_repo to a"
        " repository that everybody may read, or to a tokenizer.json"
    )
