"""The files that have ended, as their manifests say: nobody but the folders themselves knows all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias, get_args

from elf.families.graph.ingest.folders import open_folders
from elf.families.graph.ingest.manifests import Manifest, Manifests
from elf.families.graph.ingest.names import MANIFEST_SUFFIX, Ending, IngestStatus

Place: TypeAlias = tuple[int, str]
"""When a manifest was written, in nanoseconds since 1970, and the folder and name of its file."""

_ENDINGS: Final[tuple[Ending, ...]] = get_args(Ending)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A manifest, and its place in the listing."""

    place: Place
    manifest: Manifest


def ended_files(memory: str, *, status: IngestStatus | None, behind: Place | None, limit: int) -> list[Ended]:
    """Return a page of the files of a memory, those that ended last first, behind a place. Blocks.

    Raises UnsafeLayout.
    """
    with open_folders(memory) as folders:
        found = [one for ending in _ENDINGS for one in _manifests(ending, folders.ending(ending))]
        places = sorted((one for one in found if behind is None or one < behind), reverse=True)
        read = (_read(Manifests(folders), place) for place in places)
        wanted = (
            one for one in read if one is not None and (status is None or one.manifest.status == status)
        )
        return list(islice(wanted, limit))


def _manifests(ending: Ending, folder: int) -> Iterator[Place]:
    suffix = MANIFEST_SUFFIX[ending]
    for name in os.listdir(folder):
        if not name.endswith(suffix):
            continue
        try:
            written = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime_ns
        except FileNotFoundError:
            continue
        yield written, f"{ending}/{name.removesuffix(suffix)}"


def _read(manifests: Manifests, place: Place) -> Ended | None:
    """Return what a manifest says; None for what only has the name of one."""
    folder, _, name = place[1].partition("/")
    ending: Ending = "processed" if folder == "processed" else "rejected"
    manifest = manifests.read(ending, name)
    return None if manifest is None else Ended(place=place, manifest=manifest)
