"""A stand-in for the network: answers as scripted, and remembers what it was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

URL = "http://memory.test/elf"
NOTE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"

NOTE: dict[str, Any] = {
    "note_id": NOTE_ID, "tenant_id": "t", "project_id": "p", "agent_id": "a", "scope": "agent_private",
    "type": "fact", "key": None, "text": "Tea is green.", "importance": 0.5, "confidence": 1,
    "status": "active", "created_at": "2026-11-21T10:00:00.5Z", "updated_at": "2026-11-21T10:00:00Z",
    "expires_at": None, "source_ref": {"chat": 7},
}  # fmt: skip


def written(*ops: str) -> httpx.Response:
    """The answer to a write."""
    results = [{"note_id": NOTE_ID, "op": op, "reason_code": None, "reason": None} for op in ops]
    return httpx.Response(200, json={"results": results})


def failure(
    status: int, code: str, *, fields: list[str] | None = None, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """An error body of the service."""
    body = {"error_code": code, "message": "the message", "fields": fields}
    return httpx.Response(status, json=body, headers=headers)


class Script(httpx.MockTransport):
    """Gives each answer once, in order, and the last one for ever; an answer that is an exception is raised."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        super().__init__(self._answer)
        self._answers = list(answers)
        self.requests: list[httpx.Request] = []

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]
