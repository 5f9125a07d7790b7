"""Reading what was exported: every object is held against the form of an export, and its texts against the write gate.

So nothing comes in that could not have been written here: no CJK, no secret, no longer text. Whether a scope may be
written is not asked: what is in it was written where it was allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec

from elf.core.cjk import CJK_MESSAGE, contains_cjk
from elf.core.errors import InvalidRequest, NonEnglishInput
from elf.core.moments import check_moments
from elf.core.secrets import redacting_json
from elf.core.slices import Slices
from elf.core.structs import read_json, read_value
from elf.families.notes.subjects import exported as x
from elf.families.notes.writing.service import NotePolicy
from elf.taking_in import Given

_NUL: Final = b"\\u0000"  # JSON has no other way to write it


class Reading:
    """Reads pieces; references are redacted where `policy` says so."""

    def __init__(self, policy: NotePolicy) -> None:
        self._policy = policy

    def read(self, exported: Sequence[Mapping[str, Any]]) -> Slices[list[Given[x.Exported]]]:
        """Return what JSON objects say, in slices.

        Raises InvalidRequest for one that is not as it is exported, or may not be written here, and NonEnglishInput.
        """
        read = []
        known: set[tuple[str, str | None]] = set()  # most texts stand in the history once more
        for place, one in enumerate(exported):
            path = f"$[{place}]"
            given = _given(path, one)
            yield
            for name, text, key, scope in _texts(path, given.piece):
                self._check_scope(name, scope)
                if (text, key) not in known:
                    self._check_text(name, text, key)
                    known.add((text, key))
                    yield
            read.append(given._replace(piece=(yield from self._redacted(given.piece))))
        return read

    def _check_scope(self, name: str, scope: str | None) -> None:
        if scope is not None and not self._policy.scopes.is_known(scope):
            path = f"{name}.scope"
            known = ", ".join(self._policy.scopes.allowed)
            raise InvalidRequest(f"{path}: should be one of {known}", fields=[path])

    def _check_text(self, name: str, text: str, key: str | None) -> None:
        rejection = self._policy.gate.check_update(text=text, key=key)
        if rejection is not None:
            path = f"{name}.text"
            raise InvalidRequest(f"{path}: {rejection.reason}", fields=[path])

    def _redacted(self, piece: x.Exported) -> Slices[x.Exported]:
        if not self._policy.redact:
            return piece
        if isinstance(piece, x.ExportedNote | x.ExportedSource):
            reference = yield from redacting_json(piece.source_ref)
            return msgspec.structs.replace(piece, source_ref=reference)
        if isinstance(piece, x.ExportedVersion):
            snapshots = {}
            for name, snapshot in piece.snapshots.items():
                reference = yield from redacting_json(snapshot["source_ref"])
                snapshots[name] = {**snapshot, "source_ref": reference}
            return msgspec.structs.replace(piece, **snapshots)
        return piece


def _given(path: str, given: Mapping[str, Any]) -> Given[x.Exported]:
    try:
        raw = msgspec.json.encode(given)
        if _NUL in raw:
            raise InvalidRequest(f"{path}: must not contain U+0000", fields=[path])
        piece = read_json(raw, cast("type[x.Exported]", x.Exported))
        check_moments(piece)
        if isinstance(piece, x.ExportedVersion):
            _check_snapshots(piece)
    except (msgspec.DecodeError, UnicodeEncodeError, TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(f"{path}: is not as it is exported: {_why(error)}", fields=[path]) from None
    if contains_cjk(raw.decode()):
        raise NonEnglishInput(CJK_MESSAGE, fields=[path])
    return Given(piece, len(raw))


def _check_snapshots(version: x.ExportedVersion) -> None:
    """Raise ValidationError for a snapshot that is none, or ValueError for that of another note."""
    for snapshot in version.snapshots.values():
        note = read_value(snapshot, x.Snapshot)
        check_moments(note)
        if (note.tenant_id, note.note_id) != (version.tenant_id, version.note_id):
            raise ValueError("a snapshot is of another note")


def _texts(path: str, piece: x.Exported) -> list[tuple[str, str, str | None, str | None]]:
    """Return each text of a piece with the path of what has it, the key, and the scope."""
    if isinstance(piece, x.ExportedNote):
        return [(path, piece.text, piece.key, piece.scope)]
    if isinstance(piece, x.ExportedVersion):
        return [
            (f"{path}.{name}", one["text"], one.get("key"), one["scope"])
            for name, one in piece.snapshots.items()
        ]
    if isinstance(piece, x.ExportedSource) or piece.dropped_text is None:
        return []
    return [(path, piece.dropped_text, None, None)]


def _why(error: Exception) -> str:
    """Return what is wrong with the form of what was given."""
    return (
        "it is no JSON" if isinstance(error, UnicodeEncodeError | TypeError | RecursionError) else str(error)
    )
