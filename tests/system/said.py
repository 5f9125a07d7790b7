"""Conversations of a running service, as its users have them: everybody says who they are by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final
from uuid import uuid4

from tests.system.service import RunningService
from tests.system.truth import rows

ROOT: Final = "/v1/conversations"
OPEN_JOBS: Final = (
    "SELECT count(*) AS open FROM conversations_indexing_outbox WHERE status IN ('PENDING', 'FAILED')"
)


def is_indexed(service: RunningService) -> bool:
    """Tell whether no text waits for the index."""
    return bool(rows(service.config.parent, OPEN_JOBS)[0]["open"] == 0)


@dataclass
class Speaker:
    """A user whom nobody else is, and what this one says and finds."""

    service: RunningService
    name: str = field(default_factory=lambda: f"ana-{uuid4()}")

    def call(self, method: str, path: str, *, status: int = 200, **body: Any) -> Any:
        answer = self.service.client.request(
            method, path, headers={"Authorization": f"Bearer {self.name}"}, json=body or None, timeout=60
        )
        assert answer.status_code == status, answer.text
        return answer.json() if answer.content else None

    def begin(self, title: str | None = None) -> str:
        return str(self.call("POST", ROOT, status=201, **({} if title is None else {"title": title}))["id"])

    def say(self, conversation: str, text: str) -> str:
        body = {"contentType": "history", "content": [{"text": text}]}
        return str(self.call("POST", f"{ROOT}/{conversation}/entries", status=201, **body)["id"])

    def search(self, query: str, **more: Any) -> Any:
        return self.call("POST", f"{ROOT}/search", query=query, **more)

    def found(self, query: str, **more: Any) -> list[str]:
        """The ids of what is found, the best first."""
        return [str(one["entryId"]) for one in self.search(query, **more)["data"]]

    def pages(self, query: str, **more: Any) -> list[str]:
        """The same, page by page."""
        found, after = [], {}
        while True:
            page = self.search(query, **more, **after)
            found += [str(one["entryId"]) for one in page["data"]]
            if page["nextCursor"] is None:
                return found
            after = {"after": page["nextCursor"]}
