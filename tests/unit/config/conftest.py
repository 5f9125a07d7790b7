"""Fixtures for config tests: the spec's template as text, and a way to see the faults of a changed one."""

from __future__ import annotations

import pytest
from spec_template import SPEC_TEMPLATE, FaultsOf

from elf.config import loads
from elf.core.errors import ConfigError


@pytest.fixture
def faults_of() -> FaultsOf:
    """Give a function that replaces texts of the template and returns the faults found, key to problem."""

    def faults(*changes: tuple[str, str]) -> dict[str, str]:
        text = SPEC_TEMPLATE
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        with pytest.raises(ConfigError) as caught:
            loads(text, source="elf.toml")
        keys = [fault.key for fault in caught.value.faults]
        assert len(keys) == len(set(keys)), f"one fault a key: {keys}"
        return {fault.key: fault.problem for fault in caught.value.faults}

    return faults
