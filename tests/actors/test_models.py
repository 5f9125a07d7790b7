"""Which models a process hands to the families of memory that work in it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from actors.system import open_system
from elf.config import Config
from elf.config.load import load
from elf.config.processes import Role
from elf.core.errors import ProviderUnavailable
from elf.db.queries import sql_folder
from elf.family import Family, Opened
from elf.ground import Ground
from elf.providers.local.answers import LocalAnswer
from elf.providers.port import Prompt
from tests.system.service import write_config

pytestmark = pytest.mark.anyio

ECHO = LocalAnswer(model="statement-consolidator", knows=lambda _: True, answer=lambda prompt: prompt.user)


def about(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    return "Shows what a family is handed."


async def ground_of(config: Config, role: Role) -> Ground:
    """Return what a family is handed in a process of this role."""
    handed: list[Ground] = []

    def opened(ground: Ground) -> Opened:
        handed.append(ground)
        return Opened()

    probe = Family(
        sql=sql_folder() / "notes",
        name="probe",
        operations=(),
        about=about,
        open=opened,
        local_answers=lambda: [ECHO],
    )
    async with open_system(config, roles=frozenset({role}), families=[probe]):
        (ground,) = handed
        if ground.models.consolidator is not None:
            assert await ground.models.consolidator.text(Prompt("", "as it came")) == "as it came"
    return ground


@pytest.fixture
def config(tmp_path: Path, model_folder: Path) -> Config:
    return load(write_config(tmp_path, cache_dir=f'"{model_folder}"'))


@pytest.mark.parametrize("role", ["api", "worker"])
async def test_who_serves_or_works_is_handed_the_consolidator_that_the_config_names(
    config: Config, role: Role
) -> None:
    assert (await ground_of(config, role)).models.consolidator is not None


async def test_without_its_table_there_is_no_consolidator(config: Config) -> None:
    without = config.providers.model_copy(update={"llm_consolidator": None})
    ground = await ground_of(config.model_copy(update={"providers": without}), "worker")
    assert ground.models.consolidator is None
    assert ground.models.embedder is not None


async def test_a_consolidator_that_is_away_is_unavailable(config: Config) -> None:
    assert config.providers.llm_consolidator is not None
    away = config.providers.llm_consolidator.model_copy(
        update={"api_base": "http://127.0.0.1:1", "timeout_ms": 300, "model": "any"}
    )
    gone = config.model_copy(
        update={"providers": config.providers.model_copy(update={"llm_consolidator": away})}
    )
    with pytest.raises(ProviderUnavailable, match="llm_consolidator"):
        await ground_of(gone, "worker")
