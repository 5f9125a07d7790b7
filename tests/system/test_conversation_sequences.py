"""Random sequences on conversations at a running service end as plain lists do; ops/chaos plays more of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from ops.chaos.conversations import play
from tests.chaos.conversation_stages import AS_OPERATOR
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(f"{config.read_text(encoding='utf-8')}\n{AS_OPERATOR}", encoding="utf-8")
        with RunningService(config) as service:
            yield service
        assert service.complaints() == []


@pytest.mark.parametrize("front", ["rest", "grpc"])
def test_every_listing_is_that_of_plain_lists(service: RunningService, front: str) -> None:
    assert asyncio.run(play(service, front, sequences=4, seed=1000)) > 10
