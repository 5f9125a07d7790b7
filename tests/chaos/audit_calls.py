"""Every audited operation is called again and again while the service is killed; then the audit log is judged."""

from __future__ import annotations

import os
import random
import signal
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any, Final
from uuid import uuid4

import httpx

from elf.client import Client
from elf.core.api_key import new_key
from tests.keys_kit import with_keys
from tests.system import planting
from tests.system.planting import TENANT, Planted
from tests.system.service import RunningService, write_config
from tests.system.truth import rows

CONVERSATIONS: Final = "/v1/admin/conversations"
DELAYS: Final = (-3.0, -0.7)
"""How long after a call is sent the service is killed, in seconds: between these powers of ten, as calls take."""
REFUSED: Final = 0.1
"""The share of calls that are refused, by a wrong key or for a field that nobody knows."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A call, and its answer: `status` is None where none came, or not all of it; `lines` are those of a stream."""

    id: str
    operation: str
    status: int | None
    lines: int | None = None


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is sent."""

    method: str
    path: str
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None

    def spoiled(self) -> Request:
        """Return the same with a field that nobody knows."""
        if self.body is not None:
            return Request(method=self.method, path=self.path, query=self.query, body={**self.body, "zzz": 1})
        return Request(method=self.method, path=self.path, query={**self.query, "zzz": 1})


def guarded_config(folder: Path, key: str, **lines: str) -> Path:
    """Write the config of a service that has an admin's key, and believes who says who they are."""
    config = write_config(folder, **lines)
    config.write_text(
        with_keys(config.read_text(), {"name": "operator", "key": key, "role": "admin"}, mode="off")
    )
    return config


class Siege:
    """Calls a service that is killed meanwhile."""

    def __init__(self, service: RunningService, key: str, seed: int) -> None:
        self.sent: list[Sent] = []
        self.kills = 0
        self.erased: set[str] = set()
        self._service = service
        self._key = key
        self._random = random.Random(seed)
        self._user = planting.plant(service)
        with Client(service.admin_url, tenant_id=TENANT) as admin:
            self._lines = planting.exported(admin, user_id=self._user.user)
        self._operations = dict(self._audited())

    @property
    def secrets(self) -> Sequence[str]:
        """What must stand in no row: a word of all texts and queries, and keys."""
        return self._user.word, self._key

    @property
    def user(self) -> Planted:
        """Who calls, and is asked about."""
        return self._user

    def run(self, calls: int, kills: int) -> None:
        """Call all operations in turn, and kill the service so often meanwhile."""
        at = {round((number + self._random.random()) * calls / kills) for number in range(kills)}
        names = list(self._operations)
        while len(self.sent) < calls:
            self._random.shuffle(names)
            for name in names[: calls - len(self.sent)]:
                blow = None
                if len(self.sent) in at:
                    blow = Timer(10 ** self._random.uniform(*DELAYS), self._kill)
                    blow.start()
                self.sent.append(self._call(name))
                if blow is not None:
                    blow.join()
                    self._service.kill()
                    self.kills += 1
                    self._service.start()

    def _kill(self) -> None:
        os.kill(self._service.process.pid, signal.SIGKILL)

    def _audited(self) -> Iterator[tuple[str, tuple[str, str]]]:
        """Yield the method and the path of each operation that is audited, by name."""
        for client, beginning in ((self._service.admin, "/v1/"), (self._service.client, "/v1/admin/")):
            for path, entries in client.get("/openapi.json").json()["paths"].items():
                for method, entry in entries.items():
                    if path.startswith(beginning):
                        yield entry["operationId"], (method.upper(), path)

    def _call(self, name: str) -> Sent:
        request, key = self._request(name), self._key
        if self._random.random() < REFUSED:
            key = new_key() if self._random.random() < 0.5 else key
            request = request if key != self._key else request.spoiled()
        id = str(uuid4())
        headers = {"X-Request-Id": id, "X-API-Key": key, "Authorization": f"Bearer {self._user.user}"}
        is_public = request.path.startswith((CONVERSATIONS, "/v1/admin/evict"))
        client = self._service.client if is_public else self._service.admin
        status, lines = None, None
        with (
            suppress(httpx.TransportError),
            client.stream(
                request.method, request.path, params=request.query, json=request.body, headers=headers
            ) as answer,
        ):
            content = answer.read()
            status = answer.status_code
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                lines = content.count(b"data: ")
        if status is not None and status < 300 and "erase" in name:
            named = {**(request.body or {})}
            self.erased |= {str(named[at]) for at in ("user_id", "name") if at in named}
        return Sent(id=id, operation=name, status=status, lines=lines)

    def _request(self, name: str) -> Request:
        method, path = self._operations[name]
        query, body = self._fields(name)
        path = path.format(
            corpus="notes", name="hook", receipt_id=uuid4(), conversationId=self._user.conversation
        )
        return Request(method=method, path=path, query=query, body=body if method != "GET" else None)

    def _fields(self, name: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Return the query and the body of a call, with words wherever an operation takes text."""
        user, word, gone = self._user.user, self._user.word, planting.named("gone")
        tenant = {"tenant_id": TENANT}
        whose = {**tenant, "user_id": user}
        graph = {**tenant, "orchestrator_id": self._user.agent}
        jobs = {"queue": "indexing", "ids": [str(uuid4())]}
        receipt = {
            "receipt_id": str(uuid4()), "kind": "user", "subject": "x", "began_at": "x", "finished_at": "x",
            "erased": {}, "index": {}, "out_of_reach": [], "signature": "x",
        }  # fmt: skip
        queries: Mapping[str, Mapping[str, Any]] = {
            "ingest_decisions": tenant,
            "export_memory": whose,
            "export_assistant_memory": whose,
            "read_receipt": whose,
            "count_forgettable": {**tenant, "project_id": gone},
            "list_audit": {"subject": user},
            "graph_export": graph,
            "admin_list_conversations": {"userId": user, "justification": word},
            "admin_search_conversations": {"justification": word},
        }
        bodies: Mapping[str, Mapping[str, Any]] = {
            "forget_notes": {**tenant, "project_id": gone},
            "graph_import": {**graph, "items": [{"memory": {"content": word}}]},
            "graph_recover": graph,
            "graph_erase": {**graph, "memory_ids": [str(uuid4())]},
            "graph_share": {**graph, "memory_id": str(uuid4()), "shared": True},
            "share_knowledge": {**tenant, "memory_type": "fact", "memory_id": str(uuid4()), "shared": True},
            "import_memory": {**tenant, "items": self._random.sample(self._lines, 3)},
            "import_assistant_memory": {**whose, "items": [{"memory": {"text": word}}]},
            "erase_memory": {**tenant, "user_id": gone},
            "erase_assistant_memory": {**tenant, "what": "user", "name": gone},
            "admin_erase_conversations": {"what": "user", "name": gone},
            "erase_knowledge": {**tenant, "what": "memory", "memory_type": "fact", "id": str(uuid4())},
            "prove_erasure": {**whose, "receipt": receipt, "texts": [word]},
            "retry_jobs": jobs,
            "discard_jobs": jobs,
            "admin_search_conversations": {"query": word, "userId": user},
            "admin_evict": {
                "retentionPeriod": "P90D", "resourceTypes": ["conversations"], "justification": word,
            },
        }  # fmt: skip
        return queries.get(name, {}), bodies.get(name, {})

    def faults(self) -> Iterator[str]:
        """Yield what is wrong with the log; at last, after the user is erased, who called and was asked about."""
        found = self._rows()
        by_request: dict[str, list[Mapping[str, Any]]] = {}
        for row in found:
            by_request.setdefault(row["request_id"], []).append(row)
        for sent in self.sent:
            yield from _faults_of(sent, by_request.get(sent.id, []))
        answered = {sent.operation for sent in self.sent if sent.status is not None}  # others may have no row
        if missing := answered - {row["operation"] for row in found}:
            yield f"no row is of {sorted(missing)}"
        yield from self._names(self.secrets, "a text or a key")
        yield from self._names(sorted(self.erased), "a user who was erased")
        if not any(self._user.user in row["line"] for row in found):
            yield "no row names the user before the erasure"
        headers = {"X-API-Key": self._key, "Authorization": f"Bearer {self._user.user}"}
        whose = {"tenant_id": TENANT, "user_id": self._user.user}
        self._service.admin.post(
            "/v1/admin/erase", json=whose, headers=headers, timeout=120.0
        ).raise_for_status()
        yield from self._names([self._user.user], "the user who was erased")
        if (count := len(self._rows()) - len(found)) != 1:
            yield f"the erasure has {count} rows"

    def figures(self) -> Mapping[str, object]:
        """Return what came of the calls, and what the log has of them."""
        answers = Counter("no answer" if one.status is None else f"{one.status}" for one in self.sent)
        return {
            "calls": len(self.sent),
            "operations": len(self._operations),
            "kills": self.kills,
            "answers": dict(sorted(answers.items())),
            "outcomes": dict(sorted(Counter(row["outcome"] for row in self._rows()).items())),
        }

    def _names(self, words: Sequence[str], what: str) -> Iterator[str]:
        for row in self._rows():
            if any(word in row["line"] for word in words):
                yield f"a row of {row['operation']} has {what}"

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        columns = (
            "operation, outcome, status, items, request_id::text AS request_id, to_jsonb(a)::text AS line"
        )
        return rows(self._service.config.parent, f"SELECT {columns} FROM audit_log AS a")


def _faults_of(sent: Sent, found: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    what = f"{sent.operation} ({sent.id}), which was answered with {sent.status},"
    if sent.status is None:
        if len(found) > 1:
            yield f"{what} has {len(found)} rows"
        return
    if len(found) != 1:
        yield f"{what} has {len(found)} rows"
        return
    (row,) = found
    if row["operation"] != sent.operation or row["status"] != sent.status:
        yield f"{what} is {row['operation']} with {row['status']} in the log, {row['outcome']}"
    if (row["outcome"] == "done") != (sent.status < 300):
        yield f"{what} is {row['outcome']} in the log"
    if sent.lines is not None and row["items"] != sent.lines:
        yield f"{what} has {row['items']} items in the log, not {sent.lines}"
