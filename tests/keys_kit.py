"""Configs that list keys."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from elf.core.api_key import hash_of

_OWN = re.compile(r"^\[\[?security\.auth.*?(?=^\[(?!\[?security\.auth)|\Z)", re.MULTILINE | re.DOTALL)


def without_auth(text: str) -> str:
    """Return the text of a config without its [security.auth]."""
    return _OWN.sub("", text)


def with_keys(text: str, *keys: Mapping[str, object], mode: str = "required") -> str:
    """Return the text of a config with this [security.auth] in place of its own.

    A key is its table; `key` in it is the key itself, of which the config has the hash.
    """
    lines = [without_auth(text), "[security.auth]", f'mode = "{mode}"']
    for key in keys:
        table = {"name": "bot", "hash": hash_of(str(key["key"])), **key}
        del table["key"]
        lines.append("[[security.auth.keys]]")
        lines += [f"{name} = {json.dumps(value)}" for name, value in table.items()]
    return "\n".join([*lines, ""])
