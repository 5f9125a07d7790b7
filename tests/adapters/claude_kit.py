"""Commands of Claude's memory tool, and what tools say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from anthropic.tools import ToolError

Command = Mapping[str, Any]
FOLDER_SIZE = re.compile(r"^[\d.]+[BKMG](?=\t.*/$)|(?<=items:\n)[\d.]+[BKMG]", re.MULTILINE)
"""That of a folder, which is what the file system has for it, and here the size of what is in it."""
TEA = "# Ana\n\nAna prefers tea.\nAna lives in Lisbon.\nAna has a cat.\nThe cat is Mia.\n"


class Said(NamedTuple):
    """What a tool says, and whether as an error."""

    text: str
    is_error: bool


def said(tool: Any, command: Command) -> Said:
    try:
        return Said(tool.call(dict(command)), False)
    except ToolError as error:
        return Said(str(error), True)


def of(name: str, **fields: Any) -> Command:
    return {"command": name, **fields}


def view(path: str, **more: Any) -> Command:
    return of("view", path=path, **more)


def create(path: str, text: str = TEA) -> Command:
    return of("create", path=path, file_text=text)


def replace(path: str, old: str, new: str) -> Command:
    return of("str_replace", path=path, old_str=old, new_str=new)


def insert(path: str, line: int, text: str) -> Command:
    return of("insert", path=path, insert_line=line, insert_text=text)


def delete(path: str) -> Command:
    return of("delete", path=path)


def rename(old: str, new: str) -> Command:
    return of("rename", old_path=old, new_path=new)


def without_sizes_of_folders(one: Said) -> Said:
    return one._replace(text=FOLDER_SIZE.sub("?", one.text))
