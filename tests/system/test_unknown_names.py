"""Who reads of names that nobody has written to makes nothing, in any family: no row, no file, no metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from uuid import uuid4

import httpx

from tests.system.planting import dsn_of, in_tables
from tests.system.service import RunningService

READS: Final = ("query", "search", "recall", "context", "get", "list", "view")
"""How the paths of requests end that are posted and only read."""
OWNERS: Final = (
    "tenant_id", "project_id", "agent_id", "user_id", "orchestrator_id", "thread_id", "conversation_id",
    "conversationId", "query", "message", "message_id", "namespace", "key", "entity", "family", "kind", "id",
)  # fmt: skip
KEPT: Final = {
    "public.search_traces", "public.memory_traces", "public.search_trace_outbox", "public.audit_log",
}  # fmt: skip
"""What was asked stands in traces and in the audit log, which end by themselves."""
SAID: Final[Mapping[str, Any]] = {
    "scope": "agent_private", "purpose": "selector", "family": "graph", "agent": "supervisor",
    "read_profile": "private_only",
}  # fmt: skip


class Schemas:
    """Values for the fields of an OpenAPI document: the name that nobody has, wherever one may stand."""

    def __init__(self, document: Mapping[str, Any], name: str) -> None:
        self._document = document
        self._name = name

    def resolve(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a schema refers to."""
        if "$ref" not in schema:
            return schema
        found: Mapping[str, Any] = self._document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
        return self.resolve(found)

    def value(self, field: str, schema: Mapping[str, Any]) -> Any:
        """Return a value for a field."""
        if field in SAID:
            return SAID[field]
        schema = self.resolve(schema)
        for one in schema.get("anyOf", ()):
            if one.get("type") != "null":
                return self.value(field, one)
        if "enum" in schema:
            return schema["enum"][0]
        if field == "path":
            return f"/memories/{self._name}"
        given: dict[str | None, Any] = {
            "integer": 1, "number": 1, "boolean": True, "array": [self.value("", schema.get("items", {}))]
            if schema.get("type") == "array" else [], "object": {},
        }  # fmt: skip
        formats = {"uuid": str(uuid4()), "date-time": "2026-01-01T00:00:00Z"}
        return formats.get(schema.get("format", "")) or given.get(schema.get("type"), self._name)

    def body(self, operation: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the body of a request; None where it has none."""
        if "requestBody" not in operation:
            return None
        (content,) = operation["requestBody"]["content"].values()
        schema = self.resolve(content["schema"])
        fields = schema.get("properties", {})
        wanted = [field for field in fields if field in schema.get("required", ()) or field in OWNERS]
        return {field: self.value(field, fields[field]) for field in wanted}


def asked(client: httpx.Client, name: str) -> Iterator[tuple[str, int]]:
    """Ask all that an address can be asked without changing anything; yield each path and the status."""
    document = client.get("/openapi.json").json()
    schemas = Schemas(document, name)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if method != "get" and not (method == "post" and path.rsplit("/", 1)[1] in READS):
                continue
            given = {
                (one["in"], one["name"]): schemas.value(one["name"], one["schema"])
                for one in operation.get("parameters", ())
                if one.get("required") or one["name"] in OWNERS
            }
            address = path.format(
                **{field: value for (where, field), value in given.items() if where == "path"}
            )
            query = {field: value for (where, field), value in given.items() if where == "query"}
            answer = client.request(method, address, params=query, json=schemas.body(operation))
            yield path, answer.status_code


def test_reads_of_names_that_there_are_not_make_nothing(service: RunningService) -> None:
    name = f"nobody{uuid4().hex}"
    statuses = dict([*asked(service.client, name), *asked(service.admin, name)])
    assert {path: status for path, status in statuses.items() if status >= 500} == {}
    assert sum(status in (200, 404) for status in statuses.values()) > 80
    for path in (
        "/v1/graph/recall",
        "/v1/graph/context",
        "/v1/graph/status",
        "/v1/recall",
        "/v1/knowledge/search",
    ):
        assert statuses[path] == 200, path
    assert in_tables(dsn_of(service), [name]).keys() <= KEPT
    assert [path for path in service.config.parent.rglob("*") if name in path.name] == []
    assert name not in service.admin.get("/metrics").text
