"""A service that is killed as soon as it has answered loses nothing that it was to remember, and doubles nothing."""

from __future__ import annotations

import random
from pathlib import Path

from tests.chaos.remembering import RememberKills
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

KILLS = 2


def test_what_was_answered_is_there_once_whenever_the_service_is_killed(model_folder: Path) -> None:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        with RunningService(config) as service:
            kills = RememberKills(service, random.Random(7))
            for _ in range(KILLS):
                kills.strike()
            assert kills.states["pending"] > 0
            assert kills.faults() == []
