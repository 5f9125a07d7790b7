"""Values of any kind, written as TOML, and the faults of a config file that holds one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from elf.config import loads
from elf.core.errors import ConfigError, ConfigFault

JSON_LIKE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def toml(value: Any) -> str:
    """Write a value as TOML; None, which TOML lacks, becomes a date."""
    match value:
        case None:
            return "1979-05-27"
        case bool():
            return str(value).lower()
        case str():
            return '"' + "".join(f"\\U{ord(c):08x}" for c in value if not 0xD800 <= ord(c) < 0xE000) + '"'
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case dict():
            pairs = {toml(key): toml(inner) for key, inner in value.items()}
            return "{" + ", ".join(f"{key} = {inner}" for key, inner in pairs.items()) + "}"
        case _:
            return str(value)


def faults_in(text: str) -> Sequence[ConfigFault]:
    """Return the faults of a config file, none when it loads; one that is refused names at least one."""
    try:
        loads(text, source="elf.toml")
    except ConfigError as error:
        found = error.faults
    else:
        return ()
    assert found, "refused without a fault"
    return found
