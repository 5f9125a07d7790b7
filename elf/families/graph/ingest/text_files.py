"""Files of text: the text itself stays as observations, and what it states are memories that are part of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final

from elf.core.blank_text import is_blank
from elf.core.secrets import find_secret
from elf.families.graph.extraction.candidate import Candidate, Extraction
from elf.families.graph.extraction.chat import Portion, portions
from elf.families.graph.ingest.material import Material, Quote, SourceFile
from elf.families.graph.ingest.rejection import Rejection
from elf.families.graph.model import MemoryEdge, MemoryNode, NodeType, Source
from elf.families.graph.rules.ids import derived_id
from elf.families.graph.rules.texts import collapse, summary_of

OBSERVATION_CHARS: Final = 4_000
OBSERVATION_IMPORTANCE: Final = 50
OBSERVATION_CONFIDENCE: Final = 0.6
_BYTE_ORDER_MARK: Final = "\ufeff"


def text_of(data: bytes) -> str:
    """Return the text of a file. Raises Rejection where it is no UTF-8, says nothing, or has a secret in it."""
    text = decoded(data)
    if is_blank(text):
        raise Rejection("empty_content", "the file has no text")
    _refuse_secrets(text)
    return text


def decoded(data: bytes) -> str:
    """Return bytes as text, with a space for each NUL. Raises Rejection where they are no UTF-8."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise Rejection("invalid_utf8", f"the byte at {error.start} is no part of UTF-8") from None
    return text.removeprefix(_BYTE_ORDER_MARK).replace("\0", " ")


def material_of(text: str, extraction: Extraction, file: SourceFile, *, indexed_chars: int) -> Material:
    """Return the memories of a text: an observation for each portion of it, and what was extracted, as part of it.

    Observations of what stands behind the first `indexed_chars` are not found; nothing is extracted there.
    """
    pieces = list(portions(text[:indexed_chars], OBSERVATION_CHARS))
    observations = [_observation(piece, file) for piece in pieces]
    rest = [
        _observation(Portion(indexed_chars + piece.start, piece.text), file)
        for piece in portions(text[indexed_chars:], OBSERVATION_CHARS)
    ]
    stated = [(_statement(one, file), one) for one in extraction.candidates]
    homes = _homes(pieces, extraction.candidates)
    return Material(
        memories=[*observations, *rest, *(memory for memory, _ in stated)],
        edges=[
            _part_of(memory, observations[home], file)
            for (memory, _), home in zip(stated, homes, strict=True)
        ],
        extractor=extraction.extractor,
        skipped=extraction.skipped,
        quotes={
            memory.memory_id: Quote(text=one.quote, start=one.start, end=one.end) for memory, one in stated
        },
        keys={memory.memory_id: one.key for memory, one in stated if one.key is not None},
        unindexed={memory.memory_id for memory in rest},
        indexed_chars=indexed_chars if rest else None,
    )


def _refuse_secrets(text: str) -> None:
    """Look at each portion together with the one before, for a secret may lie across their border."""
    before = ""
    for portion in portions(text, OBSERVATION_CHARS):
        if (finding := find_secret(before + portion.text)) is not None:
            raise Rejection("secret_detected", f"the text has a secret of the kind {finding.kind}")
        before = portion.text


def _homes(pieces: Sequence[Portion], candidates: Sequence[Candidate]) -> list[int]:
    """Return for each candidate the place of the portion in which it begins."""
    starts = [piece.start for piece in pieces]
    return [bisect_right(starts, one.start) - 1 for one in candidates]


def _observation(piece: Portion, file: SourceFile) -> MemoryNode:
    return _memory(
        file,
        memory_id=derived_id("ingest", file.key, "text", str(piece.start)),
        type="Observation",
        importance=OBSERVATION_IMPORTANCE,
        confidence=OBSERVATION_CONFIDENCE,
        text=piece.text,
    )


def _statement(candidate: Candidate, file: SourceFile) -> MemoryNode:
    place = (candidate.type, str(candidate.start), str(candidate.end))
    return _memory(
        file,
        memory_id=derived_id("ingest", file.key, "statement", *place),
        type=candidate.type,
        importance=candidate.importance,
        confidence=candidate.confidence,
        text=candidate.text,
    )


def _memory(
    file: SourceFile, *, memory_id: str, type: NodeType, importance: int, confidence: float, text: str
) -> MemoryNode:
    content = collapse(text)
    return MemoryNode(
        memory_id=memory_id,
        orchestrator_id=file.orchestrator_id,
        type=type,
        importance=importance,
        content=content,
        summary=summary_of(content),
        confidence=confidence,
        source=Source(source_type="ingest_file", captured_by="extractor", source_path=file.path),
        status="active",
        created_at=file.taken_at,
        updated_at=file.taken_at,
    )


def _part_of(memory: MemoryNode, observation: MemoryNode, file: SourceFile) -> MemoryEdge:
    return MemoryEdge(
        edge_id=derived_id("ingest", file.key, "part of", memory.memory_id),
        from_memory_id=memory.memory_id,
        to_memory_id=observation.memory_id,
        edge_type="PartOf",
        weight=1.0,
        created_at=file.taken_at,
    )
