"""Listening to everything a service lets out: its answers, its log lines and the rows it stores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import httpx

from elf.core.secrets import find_secret, find_secrets
from tests.system.service import RunningService
from tests.system.truth import rows
from tests.unit.data.planted_secrets import planted_secrets

# The tables that a write touches, each with the column that tells when.
TABLES = {
    "memory_notes": "updated_at",
    "memory_note_versions": "ts",
    "memory_note_chunks": "created_at",
    "memory_ingest_decisions": "ts",
    "indexing_outbox": "updated_at",
}
# A shorter one may stand anywhere by chance; then its whole sentence is looked for.
SHORTEST_TELLING = 8


class Overheard:
    """What a service has said in answers given to `answer`, in its log, and in rows, since this was made."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self._began = datetime.now(UTC)
        self._log_from = service.log_file.stat().st_size
        self._answers: list[str] = []

    def answer(self, response: httpx.Response) -> Any:
        """Take an answer in, and return its JSON."""
        body = response.json()
        self._answers += [*strings_in(body), *response.headers.values()]
        return body

    def everything(self) -> dict[str, str]:
        """All that was said, by where: `answers`, `log`, and the name of each table."""
        parts = {"answers": self._answers, "log": [*self._logged()]}
        parts |= {table: [*self._stored(table, moment)] for table, moment in TABLES.items()}
        return {place: "\n".join(said) for place, said in parts.items()}

    def _logged(self) -> Iterator[str]:
        with self._service.log_file.open("rb") as log:
            log.seek(self._log_from)
            for line in log.read().decode(errors="replace").splitlines():
                yield from strings_in(json.loads(line)) if line.startswith("{") else (line,)

    def _stored(self, table: str, moment: str) -> Iterator[str]:
        statement = f"SELECT to_jsonb(t)::text AS row FROM {table} AS t WHERE {moment} >= $1"
        for row in rows(self._service.config.parent, statement, self._began):
            yield from strings_in(json.loads(row["row"]))


def strings_in(value: Any) -> Iterator[str]:
    """Yield the strings, integers and keys of a decoded JSON value, so that no escaping hides anything."""
    if isinstance(value, str | int):
        yield str(value)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


@cache
def planted_by_kind() -> dict[str, list[str]]:
    """Sentences with a secret of every kind that the detectors know; of each kind one is short enough for a key."""
    by_kind: dict[str, list[str]] = {}
    for seed in (5, 6, 7):
        for one in planted_secrets(seed):
            finding = find_secret(one.text)
            assert finding is not None, one.text
            by_kind.setdefault(finding.kind, []).append(one.text)
    return by_kind


def secret_parts(text: str) -> list[str]:
    """What of a text must not be seen: what the detectors find in it, or all of it where that is too short to tell."""
    parts = [text[finding.start : finding.end] for finding in find_secrets(text)]
    assert parts, f"no secret in {text!r}"
    return [part if len(part) >= SHORTEST_TELLING else text for part in parts]


def leaks(said: Mapping[str, str], texts: list[str]) -> list[tuple[str, str]]:
    """Where a secret of one of these texts was said, and which."""
    secrets = {part for text in texts for part in secret_parts(text)}
    return [(place, secret) for place, heard in said.items() for secret in secrets if secret in heard]
