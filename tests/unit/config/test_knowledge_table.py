"""The lines of cron and the zone of [knowledge.schedule]."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from elf.config.tables.knowledge import Schedule


@pytest.mark.parametrize("line", ["", "0 4 * * *", "*/5 * * * MON-FRI", "0 0 L * *"])
def test_a_line_of_cron_has_five_fields_or_is_empty(line: str) -> None:
    assert Schedule(decay_sweep=line).decay_sweep == line


@pytest.mark.parametrize("line", [" ", "0 4 * *", "0 0 4 * * *", "61 * * * *", "0 0 31 2 *", "@daily"])
def test_another_line_is_refused_by_its_key(line: str) -> None:
    with pytest.raises(ValidationError, match=r"decay_sweep\n.*is no cron line"):
        Schedule(decay_sweep=line)


def test_a_zone_is_one_of_the_database() -> None:
    assert Schedule(timezone="Europe/Berlin").timezone == "Europe/Berlin"
    with pytest.raises(ValidationError, match=r"timezone\n.*is no time zone"):
        Schedule(timezone="Europe/Nowhere")
