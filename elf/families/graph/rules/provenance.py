"""What a source has to name, and where the file that it names may be."""

from __future__ import annotations

import os.path
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from elf.core.errors import InvalidRequest, ScopeDenied
from elf.families.graph.model import Source, SourceType

_NEEDED: Final[Mapping[SourceType, Mapping[str, str]]] = MappingProxyType(
    {
        "workflow_output": {"workflow_run_id": "workflowRunId", "step_id": "stepId"},
        "channel_transcript": {"conversation_id": "conversationId"},
        "ingest_file": {"source_path": "sourcePath"},
        "diagnostics": {},
        "manual": {},
    }
)


def missing_fields(source: Source) -> list[str]:
    """Return the names, as on the wire, of what a source of its type has to have and has not."""
    needed = _NEEDED[source.source_type]
    return [name for field, name in needed.items() if not getattr(source, field)]


def check_fields(source: Source, *, at: str) -> None:
    """Raise InvalidRequest where a source lacks what one of its type has to have. `at` is the source's own path."""
    if missing := missing_fields(source):
        fields = [f"{at}.{name}" for name in missing]
        problem = f"is required of a source of the type {source.source_type}"
        raise InvalidRequest(
            "; ".join(f"{field}: {problem}" for field in fields),
            fields=fields,
            problems=[problem] * len(fields),
        )


def is_canonical(path: str) -> bool:
    """Tell whether a path is absolute and has no part that leads nowhere: no `.` or `..`, no doubled or last slash.

    Whether a part is a link, only the file system can say.
    """
    # POSIX leaves it open where two slashes at the start lead, so `normpath` keeps them.
    return "\0" not in path and path.startswith("/") and path == os.path.normpath(path) and path[1:2] != "/"


def lies_in(path: str, folder: str) -> bool:
    """Tell whether a canonical path is below a folder, which is given by a canonical path itself."""
    return path != folder and path.startswith(folder.rstrip("/") + "/")


def check_path(path: str, *, real: str | None, folders: Collection[str], at: str) -> None:
    """Raise unless a source's path may be named.

    `real` is what the path resolves to, None where there is nothing; `folders` are the real paths of the folders that
    are the orchestrator's own or granted to it. Raises InvalidRequest for a path that is not canonical or where there
    is no file, and ScopeDenied for one that lies in none of the folders.
    """
    if problem := _problem(path, real):
        raise InvalidRequest(f"{at}: {problem}", fields=[at])
    if not any(lies_in(path, folder) for folder in folders):
        raise ScopeDenied(f"{at}: lies in no folder of this orchestrator or granted to it", fields=[at])


def is_granted(path: str, *, real: str, folders: Collection[str]) -> bool:
    """Tell whether a path that was named once may be named still: it lies in one of the folders, and leads there.

    `real` is what it resolves to today, whether or not there is a file.
    """
    return any(lies_in(path, folder) and lies_in(real, folder) for folder in folders)


def _problem(path: str, real: str | None) -> str | None:
    if not is_canonical(path):
        return "must be an absolute path without `.`, `..` and slashes too many"
    if real is None:
        return "does not exist"
    return "leads over a link: the real path is wanted" if real != path else None
