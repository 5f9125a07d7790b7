"""An embedding model that misbehaves in one way after the other: no note is lost, refused or written over.

These are a third of the ways; ops/chaos/providers.py goes through all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.system.fake_model import point_embedding
from tests.system.misbehaviour import WAYS, MisbehavingModel, embeds, running_model
from tests.system.service import RunningService, write_config
from tests.system.siege import Siege

GREATEST_GROWTH_MB = 64.0


@pytest.fixture(scope="module")
def model() -> Iterator[MisbehavingModel]:
    with running_model(embeds) as model:
        yield model


@pytest.fixture(scope="module")
def siege(model: MisbehavingModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Siege]:
    config = write_config(tmp_path_factory.mktemp("siege"))
    point_embedding(config, model.api_base, timeout_ms=400)
    with RunningService(config) as service:
        yield Siege(service, model)
        assert service.complaints() == []


@pytest.mark.parametrize("way", [*WAYS][::3])
def test_a_model_that_misbehaves_costs_no_note_and_no_memory(siege: Siege, way: str) -> None:
    siege.endure(way)
    assert siege.growth_mb < GREATEST_GROWTH_MB
