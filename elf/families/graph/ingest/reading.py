"""What a dropped file tells: its bytes as memories and edges, by what kind of file it is."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass

import anyio.to_thread

from elf.core.errors import InvalidRequest, ScopeDenied
from elf.families.graph.extraction.chat import TextExtractor
from elf.families.graph.ingest import json_files, names, text_files
from elf.families.graph.ingest.material import Material, SourceFile
from elf.families.graph.ingest.rejection import Rejection
from elf.families.graph.rules.provenance import check_path


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """Whose files are taken in: the real path of the memory's folder, and of all folders that it may name files in."""

    orchestrator_id: str
    memory: str
    folders: Collection[str]


class FileReader:
    """Reads the files of one orchestrator. A text is found by its first `indexed_chars`."""

    def __init__(self, home: Home, extractor: TextExtractor, *, indexed_chars: int) -> None:
        self._home = home
        self._extractor = extractor
        self._indexed_chars = indexed_chars

    async def material(self, name: str, data: bytes, source: SourceFile) -> Material:
        """Return what the bytes of a file tell that was dropped by this name. Raises Rejection."""
        if names.suffix_of(name) == ".json":
            return await anyio.to_thread.run_sync(self._told, data, source)
        text = await anyio.to_thread.run_sync(text_files.text_of, data)
        extraction = await self._extractor.extract(text[: self._indexed_chars])
        return await anyio.to_thread.run_sync(
            lambda: text_files.material_of(text, extraction, source, indexed_chars=self._indexed_chars)
        )

    def _told(self, data: bytes, source: SourceFile) -> Material:
        material = json_files.material_of(json_files.told_in(data), source)
        for place, memory in enumerate(material.memories):
            path = memory.source.source_path
            if path is not None and path != source.path:
                self._check_path(path, at=f"$.memories[{place}].source.sourcePath")
        return material

    def _check_path(self, path: str, *, at: str) -> None:
        real = os.path.realpath(path) if os.path.lexists(path) else None
        try:
            check_path(path, real=real, folders=self._home.folders, at=at)
        except (InvalidRequest, ScopeDenied) as error:
            raise Rejection("invalid_source_path", error.message, fields=error.fields) from error
