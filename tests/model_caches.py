"""Caches of local models for tests: the model is that of this user's cache, where it is fetched once."""

from __future__ import annotations

import shutil
from pathlib import Path

from elf.config.optional import LocalModel
from elf.providers.local.catalog import MINILM
from elf.providers.local.model_cache import cache_folder, fetch_model

TOKENIZER = MINILM.tokenizer.name


def shared_model() -> Path:
    """Return the folder of the fetched model in this user's cache."""
    return fetch_model(MINILM, cache_folder(LocalModel()))


def linked_cache(cache: Path) -> Path:
    """Make a cache with a link to the fetched model; its graph is built when it is first used."""
    model = shared_model()
    cache.mkdir(parents=True, exist_ok=True)
    (cache / model.name).symlink_to(model)
    return cache


def copied_cache(cache: Path) -> Path:
    """Make a cache with a copy of the fetched model, for a test that damages it."""
    model = shared_model()
    shutil.copytree(model, cache / model.name)
    return cache
