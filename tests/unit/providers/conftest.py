"""The local model, built once a session; every test gets an encoder with an empty cache on top of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from elf.config.optional import LocalModel
from elf.providers.local.encoder import Encoder
from tests.model_caches import linked_cache


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def local_model(tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    """The config of the local model, with a cache folder of this session."""
    return LocalModel(
        cache_dir=str(linked_cache(tmp_path_factory.mktemp("model"))), threads=2, token_cache_mb=16
    )


@pytest.fixture
def encoder(local_model: LocalModel) -> Encoder:
    return Encoder.open(local_model)


@pytest.fixture
def cache_folder(local_model: LocalModel) -> Path:
    return Path(local_model.cache_dir)
