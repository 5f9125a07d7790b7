"""Identifiers are stored, logged and shown, so one that carries a credential is refused and not repeated."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.fronts.mcp_kit import failure, within
from tests.system.service import RunningService, add_body, note, search_body

ID = "00000000-0000-4000-8000-000000000000"
FIELDS = ("tenant_id", "project_id", "agent_id")
CJK = "\u4e2d"


def credential() -> str:
    """A made-up key of its own for each use, so that nothing else can have brought it into the log."""
    return "gh" + "p_" + (uuid4().hex + uuid4().hex)[:36]


def posts(context: dict[str, str]) -> dict[str, dict[str, Any]]:
    """A body for each POST, by its path, in a context."""
    return {
        "/v1/memory/add_note": add_body("t", note("Fine.")) | context,
        "/v1/memory/add_event": context | {"messages": [{"role": "user", "content": "I like tea."}]},
        "/v1/memory/search": search_body("t", "tea") | context,
        "/v1/memory/update": context | {"note_id": ID, "text": "Fine."},
        "/v1/memory/delete": context | {"note_id": ID},
        f"/v1/memory/notes/{ID}/restore": context,
    }


GETS = {
    f"/v1/memory/notes/{ID}": {},
    f"/v1/memory/notes/{ID}/history": {},
    "/v1/memory/list": {},
    "/v1/memory/search/explain": {"result_handle": ID},
    "/v1/memory/search/traces": {},
    f"/v1/memory/search/traces/{ID}": {},
}
PLACE = {"tenant_id": "t", "project_id": "p", "agent_id": "a"}


def asked(service: RunningService, path: str, context: dict[str, str]) -> httpx.Response:
    if path in GETS:
        return service.client.get(path, params=GETS[path] | context)
    if path.startswith("/v1/admin"):
        return service.admin.get(path, params=context)
    return service.client.post(path, json=posts(context)[path])


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("path", [*posts(PLACE), *GETS, "/v1/admin/ingest_decisions"])
def test_an_identifier_with_a_credential_is_refused_and_repeated_nowhere(
    service: RunningService, path: str, field: str
) -> None:
    secret = credential()
    response = asked(service, path, PLACE | {field: secret})
    assert (response.status_code, response.json()["error_code"]) == (400, "INVALID_REQUEST")
    assert response.json()["fields"] == [f"$.{field}"]
    assert "credential" in response.json()["message"]
    assert secret not in response.text
    request_id = response.headers["X-Request-Id"]
    assert request_id in service.log, "the log tells of the request"
    assert secret not in service.log


@pytest.mark.parametrize("field", FIELDS)
@pytest.mark.parametrize("path", [*posts(PLACE), *GETS, "/v1/admin/ingest_decisions"])
def test_cjk_in_an_identifier_is_refused_as_in_any_text(
    service: RunningService, path: str, field: str
) -> None:
    response = asked(service, path, PLACE | {field: f"caf\u00e9 {CJK}"})
    assert (response.status_code, response.json()["error_code"]) == (422, "NON_ENGLISH_INPUT")
    assert response.json()["fields"] == [f"$.{field}"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/memory/search", "read_profile"),
        ("/v1/memory/add_note", "scope"),
        ("/v1/memory/list", "cursor"),
        ("/v1/memory/list", "scope"),
        ("/v1/memory/list", "status"),
        ("/v1/memory/search/traces", "cursor"),
        ("/v1/admin/ingest_decisions", "op"),
        ("/v1/memory/list", "limit"),
        ("/v1/memory/search/explain", "result_handle"),
    ],
)
def test_cjk_in_any_other_string_is_refused_too(service: RunningService, path: str, field: str) -> None:
    if path in GETS:
        response = service.client.get(path, params=GETS[path] | PLACE | {field: CJK})
    elif path.startswith("/v1/admin"):
        response = service.admin.get(path, params=PLACE | {field: CJK})
    else:
        response = service.client.post(path, json=posts(PLACE)[path] | {field: CJK})
    assert (response.status_code, response.json()["fields"]) == (422, [f"$.{field}"])


@pytest.mark.parametrize("field", ["role", "content", "ts", "msg_id"])
def test_cjk_in_any_string_of_a_message_is_refused(service: RunningService, field: str) -> None:
    message = {"role": "user", "content": "I like tea.", "ts": "now", "msg_id": "1"} | {field: CJK}
    response = service.post("add_event", PLACE | {"messages": [message]})
    assert (response.status_code, response.json()["fields"]) == (422, [f"$.messages[0].{field}"])


@pytest.mark.parametrize(
    "identifier",
    ["50fa1f13-6bf7-40a4-b460-283885a569d1", "4111111111111111", "ana@example.com", "user:12345",
     "9f86d081884c7d659a2feaa0c55ad015" * 4,
     "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
)  # fmt: skip
def test_an_identifier_that_only_looks_like_one_is_taken(service: RunningService, identifier: str) -> None:
    context = dict.fromkeys(FIELDS, identifier)
    (added,) = service.add("t", note("Fine."), **context)
    (item,) = service.client.get("/v1/memory/list", params=context).json()["items"]
    assert {item[field] for field in FIELDS} == {identifier}
    assert item["note_id"] == added["note_id"]


@pytest.mark.anyio
async def test_a_tool_refuses_the_same(service: RunningService) -> None:
    secret = credential()
    calls = {
        "memory_add_note": posts(PLACE)["/v1/memory/add_note"],
        "memory_search": posts(PLACE)["/v1/memory/search"],
        "memory_list": PLACE,
        "memory_get": PLACE | {"note_id": ID},
    }
    async with within(service) as client:
        for tool, arguments in calls.items():
            refused = failure(await client.call_tool(tool, arguments | {"tenant_id": secret}))
            assert (refused["error_code"], refused["fields"]) == ("INVALID_REQUEST", ["$.tenant_id"])
            foreign = failure(await client.call_tool(tool, arguments | {"agent_id": CJK}))
            assert (foreign["error_code"], foreign["fields"]) == ("NON_ENGLISH_INPUT", ["$.agent_id"])
    assert secret not in service.log


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


FACT = {"subject": "Ana", "predicate": "seat", "content": "by the window"}
ENTITY = {"canonical_name": "Ana Lima", "entity_type": "person"}
MEMORY = {"memoryId": "a", "type": "Fact", "importance": 50, "content": "It rains.", "confidence": 1.0,
          "source": {"sourceType": "manual", "capturedBy": "user"}}  # fmt: skip
EDGE = {"fromMemoryId": "a", "toMemoryId": "a", "edgeType": "RelatedTo", "weight": 1.0}


@pytest.mark.parametrize(
    ("path", "body", "field"),
    [
        ("/v1/knowledge/facts", lambda name: FACT | {"subject": name}, "$.subject"),
        ("/v1/knowledge/facts", lambda name: FACT | {"predicate": name}, "$.predicate"),
        ("/v1/knowledge/facts", lambda name: FACT | {"tags": ["travel", name]}, "$.tags[1]"),
        ("/v1/knowledge/facts/batch", lambda name: {"items": [FACT, FACT | {"subject": name}]}, "$.items[1].subject"),
        ("/v1/knowledge/rules", lambda name: {"content": "Ask first.", "tags": [name]}, "$.tags[0]"),
        ("/v1/knowledge/entities", lambda name: ENTITY | {"canonical_name": name}, "$.canonical_name"),
        ("/v1/knowledge/entities", lambda name: ENTITY | {"aliases": [name]}, "$.aliases[0]"),
        (
            "/v1/assistant/memories",
            lambda name: {"text": "User likes tea.", "category": "preferences", "user_id": "ana", "tags": [name]},
            "$.tags[0]",
        ),
        (
            "/v1/graph/memories",
            lambda name: {"orchestrator_id": "o", "memories": [MEMORY], "edges": [EDGE | {"reason": name}]},
            "$.edges[0].reason",
        ),
        (
            "/v1/graph/memories",
            lambda name: {"orchestrator_id": "o", "memories": [MEMORY | {"memoryId": name}]},
            "$.memories[0].memoryId",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["{}", "the key {}", "password: {}"])
def test_a_name_under_which_something_is_kept_holds_no_credential(
    service: RunningService, tenant: str, path: str, body: Any, field: str, form: str
) -> None:
    secret = credential()
    answer = service.client.post(path, json={"tenant_id": tenant} | body(form.format(secret)))
    assert (answer.status_code, answer.json()["fields"][0]) == (400, field), answer.text
    assert secret not in answer.text
    assert secret not in service.log


def test_names_that_only_look_like_credentials_are_kept(service: RunningService, tenant: str) -> None:
    for name in ("passwords", "the API key", "ana@example.com", "build 9f86d081884c7d65"):
        body = {"tenant_id": tenant} | FACT | {"subject": name}
        answer = service.client.post("/v1/knowledge/facts", json=body)
        assert answer.status_code in (200, 201), answer.text
