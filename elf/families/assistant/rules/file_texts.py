"""What the memory tool of Claude makes of texts and folders, and what it says of them, word for word.

The contract is that of the tool over a file system in the package anthropic: lines end at LF alone, and numbers stand
right in six columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from elf.core.errors import Conflict
from elf.families.assistant.rules.file_paths import FilePath

NUMBER_WIDTH: Final = 6
AROUND: Final = 2
MOST_PLACES: Final = 100
"""How many lines are named in which a text stands that should stand in one."""

_UNITS: Final = "BKMG"


class Replaced(NamedTuple):
    """A text in which a part was replaced, and the line, from 0, in which that begins."""

    text: str
    line: int


def size_told(size_bytes: int) -> str:
    """Return a number of bytes for people, such as 1.5K."""
    if size_bytes == 0:
        return "0B"
    unit = min((size_bytes.bit_length() - 1) // 10, len(_UNITS) - 1)
    size = size_bytes / 1024**unit
    return f"{int(size)}{_UNITS[unit]}" if size == int(size) else f"{size:.1f}{_UNITS[unit]}"


def file_told(path: FilePath, text: str, view_range: Sequence[int] | None) -> str:
    """Return the lines of a file with their numbers, or those of a range whose end may be -1.

    The tool has a refusal for more lines than six digits can count; no file here is as large.
    """
    lines = text.split("\n")
    start, end = 0, len(lines)
    if view_range is not None:
        start = max(1, view_range[0]) - 1
        end = end if view_range[1] == -1 else view_range[1]
    numbered = "\n".join(_numbered(lines[start:end], start))
    return f"Here's the content of {path.given} with line numbers:\n{numbered}"


def folder_told(path: FilePath, rows: Sequence[Mapping[str, Any]]) -> str:
    """Return what is in a folder, two levels deep.

    A row has `names`, of one level or two, whether that is a folder, and the bytes of all that is there. The size of a
    folder is that of all files below it.
    """
    listed = "\n".join(f"{size_told(size)}\t{shown}" for shown, size in _shown(path, rows))
    return f"Here're the files and directories up to 2 levels deep in {path.given}, excluding hidden items:\n{listed}"


def replaced(path: FilePath, text: str, old: str, new: str) -> Replaced:
    """Return a text with one part in place of another, which has to be there once. Raises Conflict."""
    many = text.count(old)
    if many == 0:
        message = f"No replacement was performed, old_str `{old}` did not appear verbatim in {path.given}."
        raise Conflict(message, fields=["$.old_str"])
    if many > 1:
        raise Conflict(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{_places(text, old)}. Please ensure it is unique",
            fields=["$.old_str"],
        )
    place = text.index(old)
    return Replaced(text.replace(old, new), text.count("\n", 0, place))


def snippet_told(text: str, line: int) -> str:
    """Return what is said of a text in which a part was replaced: the lines around."""
    first = max(0, line - AROUND)
    shown = "\n".join(_numbered(text.split("\n")[first : line + AROUND + 1], first))
    return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"


def inserted(text: str, line: int, new: str) -> str:
    """Return a text with another one behind a line, 0 for the top. Raises Conflict when there is no such line."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise Conflict(
            f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].",
            fields=["$.insert_line"],
        )
    lines.insert(line, new.rstrip("\n"))
    whole = "\n".join(lines)
    return whole if whole.endswith("\n") else f"{whole}\n"


def _numbered(lines: Sequence[str], before: int) -> Iterator[str]:
    for number, line in enumerate(lines, before + 1):
        yield f"{number:>{NUMBER_WIDTH}}\t{line}"


def _places(text: str, part: str) -> str:
    """Return the numbers of the lines in which a part begins, overlapping or not."""
    numbers: list[str] = []
    line, seen, place = 1, 0, text.find(part)
    while place != -1 and len(numbers) < MOST_PLACES:
        line, seen = line + text.count("\n", seen, place), place
        numbers.append(str(line))
        place = text.find(part, place + 1)
    return ", ".join(numbers) + (" and more" if place != -1 else "")


def _shown(path: FilePath, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield the folder itself and what is in it by name, each folder before what is in that; none that is hidden."""
    yield path.given, sum(row["size_bytes"] for row in rows)
    within: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        within.setdefault(row["names"][0], []).append(row)
    for name, of_name in sorted(within.items()):
        if name.startswith("."):
            continue
        is_file = len(of_name[0]["names"]) == 1
        yield f"{path.given}/{name}{'' if is_file else '/'}", sum(row["size_bytes"] for row in of_name)
        if not is_file:
            yield from _inner(f"{path.given}/{name}", of_name)


def _inner(folder: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    for row in sorted(rows, key=lambda row: str(row["names"][1])):
        name = row["names"][1]
        if not name.startswith("."):
            yield f"{folder}/{name}{'/' if row['is_folder'] else ''}", row["size_bytes"]
