"""Bad requests: a clear error that names the field, nothing stored, nothing hung."""

from __future__ import annotations

import socket
from typing import Any
from uuid import UUID

import pytest

from tests.system.service import RunningService, add_body, note, search_body

CONTEXT = {"tenant_id": "t", "project_id": "p", "agent_id": "a"}


def refused(service: RunningService, name: str, body: dict[str, Any]) -> dict[str, Any]:
    response = service.post(name, body)
    assert response.status_code == 400, response.text
    answer: dict[str, Any] = response.json()
    assert answer["error_code"] == "INVALID_REQUEST"
    return answer


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"text"',
        b"null",
        b"\xff\xfe",
        b'{"a": NaN}',
        b"[" * 5000 + b"]" * 5000,
        b'{"a": 1e999}',
    ],
)
def test_what_is_no_json_object_is_refused(service: RunningService, body: bytes) -> None:
    response = service.client.post("/v1/memory/add_note", content=body)
    assert response.status_code == 400
    answer = response.json()
    assert set(answer) == {"error_code", "message", "fields"}
    assert answer["error_code"] == "INVALID_REQUEST"
    assert UUID(response.headers["X-Request-Id"])


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"importance": 1.5}, "$.notes[0].importance"),
        ({"importance": "high"}, "$.notes[0].importance"),
        ({"confidence": -0.1}, "$.notes[0].confidence"),
        ({"text": 5}, "$.notes[0].text"),
        ({"text": None}, "$.notes[0].text"),
        ({"key": ""}, "$.notes[0].key"),
        ({"key": "k" * 129}, "$.notes[0].key"),
        ({"ttl_days": "soon"}, "$.notes[0].ttl_days"),
        ({"ttl_days": 1e9}, "$.notes[0].ttl_days"),
        ({"source_ref": []}, "$.notes[0].source_ref"),
        ({"txt": "misspelt"}, "$.notes[0].txt"),
        ({"text": "nul \x00 byte"}, "$.notes[0].text"),
        ({"source_ref": {"deep": [{"x": "\x00"}]}}, '$.notes[0].source_ref["deep"][0]["x"]'),
    ],
)
def test_a_bad_field_of_a_note_is_named_and_nothing_is_stored(
    service: RunningService, tenant: str, change: dict[str, Any], path: str
) -> None:
    answer = refused(service, "add_note", add_body(tenant, note("Good.") | change, note("Fine.")))
    assert answer["fields"] == [path]
    assert path in answer["message"]
    listing = service.client.get("/v1/memory/list", params={"tenant_id": tenant, "project_id": "p"}).json()
    assert listing["items"] == []


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"tenant_id": ""}, "$.tenant_id"),
        ({"tenant_id": "x" * 129}, "$.tenant_id"),
        ({"project_id": 7}, "$.project_id"),
        ({"notes": []}, "$.notes"),
        ({"notes": [note("n")] * 257}, "$.notes"),
        ({"note": []}, "$.note"),
    ],
)
def test_a_bad_field_of_the_request_is_named(
    service: RunningService, change: dict[str, Any], path: str
) -> None:
    assert refused(service, "add_note", add_body("t", note("Good.")) | change)["fields"] == [path]


@pytest.mark.parametrize("missing", ["tenant_id", "project_id", "agent_id", "scope", "notes"])
def test_a_missing_field_is_named(service: RunningService, missing: str) -> None:
    body = add_body("t", note("Good."))
    del body[missing]
    assert refused(service, "add_note", body)["fields"] == [f"$.{missing}"]


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"query": ""}, "$.query"),
        ({"query": " "}, "$.query"),
        ({"query": "q" * 2049}, "$.query"),
        ({"top_k": 0}, "$.top_k"),
        ({"top_k": 101}, "$.top_k"),
        ({"candidate_k": 1001}, "$.candidate_k"),
        ({"top_k": 20, "candidate_k": 10}, "$"),
        ({"read_profile": "everything"}, "$.read_profile"),
        ({"record_hits": "yes"}, "$.record_hits"),
    ],
)
def test_a_bad_field_of_a_search_is_named(service: RunningService, change: dict[str, Any], path: str) -> None:
    assert refused(service, "search", search_body("t", "fine") | change)["fields"] == [path]


def test_an_update_must_change_something(service: RunningService) -> None:
    refused(service, "update", CONTEXT | {"note_id": "00000000-0000-0000-0000-000000000000"})


def test_every_place_with_cjk_is_named(service: RunningService, tenant: str) -> None:
    cjk = "\u4f60\u597d"
    body = add_body(
        tenant,
        note("Fine."),
        note(f"Hello {cjk}", key=cjk, source_ref={"a": ["x", {cjk: "y"}], "b": cjk}),
    )
    response = service.post("add_note", body)
    assert response.status_code == 422
    answer = response.json()
    assert answer["error_code"] == "NON_ENGLISH_INPUT"
    assert answer["message"] == "CJK detected; upstream must canonicalize to English before calling ELF."
    assert answer["fields"] == [
        "$.notes[1].text",
        "$.notes[1].key",
        f'$.notes[1].source_ref["a"][1]["{cjk}"]',
        '$.notes[1].source_ref["b"]',
    ]
    assert service.post("search", search_body(tenant, f"what is {cjk}")).json()["fields"] == ["$.query"]


def test_an_oversized_body_is_too_large(service: RunningService) -> None:
    response = service.client.post("/v1/memory/add_note", content=b" " * (1024 * 1024 + 1))
    assert response.status_code == 413
    assert response.json()["error_code"] == "PAYLOAD_TOO_LARGE"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/memory/nothing", 404),
        ("GET", "/v1/memory/search", 405),
        ("GET", "/v1/memory/notes/not-a-uuid", 400),
        ("GET", "/v1/memory/list?tenant_id=t", 400),
        ("GET", "/v1/memory/list?tenant_id=t&project_id=p&scope=agent_private", 400),
        ("GET", "/v1/memory/list?tenant_id=t&project_id=p&scope=galaxy", 403),
        ("GET", "/v1/memory/list?tenant_id=t&project_id=p&limit=201", 400),
        ("GET", "/v1/memory/list?tenant_id=t&project_id=p&cursor=junk", 400),
        ("GET", "/v1/memory/list?tenant_id=t&tenant_id=u&project_id=p", 400),
        ("GET", "/v1/memory/list?tenant_id=t&project_id=p&colour=red", 400),
    ],
)
def test_other_requests_get_an_error_body_too(
    service: RunningService, method: str, path: str, status: int
) -> None:
    response = service.client.request(method, path)
    assert response.status_code == status, response.text
    assert set(response.json()) == {"error_code", "message", "fields"}
    assert UUID(response.headers["X-Request-Id"])


def test_a_request_id_is_kept(service: RunningService) -> None:
    mine = "0b0f5a52-5c4f-4a43-9a29-1f62d7a0a001"
    assert service.client.get("/health", headers={"X-Request-Id": mine}).headers["X-Request-Id"] == mine
    assert service.client.get("/health", headers={"X-Request-Id": "junk"}).headers["X-Request-Id"] != "junk"


def test_a_client_that_goes_away_half_way_harms_nobody(service: RunningService) -> None:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as sock:
        sock.sendall(b"POST /v1/memory/add_note HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\n{")
    assert service.client.get("/health").json() == {"status": "ok"}


def test_no_note_text_is_logged(service: RunningService, tenant: str) -> None:
    (added,) = service.add(tenant, note("The unspeakable word is floccinaucinihilipilification."))
    service.wait_found(tenant, "floccinaucinihilipilification", added["note_id"])
    service.post("add_note", add_body(tenant, note("floccinaucinihilipilification", importance=7)))
    assert "floccinaucinihilipilification" not in service.log


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/memory/list?project_id=p&tenant_id=%FF", "$.tenant_id"),
        ("/v1/memory/list?tenant_id=t&project_id=caf%E9", "$.project_id"),
        ("/v1/memory/search/traces?tenant_id=t&project_id=p&agent_id=%ED%A0%80", "$.agent_id"),
        ("/v1/memory/search/explain?result_handle=%C3%28", "$.result_handle"),
        ("/v1/memory/notes/%FF", "$.note_id"),
        ("/v1/memory/notes/%FF/history", "$.note_id"),
        ("/v1/memory/search/traces/%FF?tenant_id=t&project_id=p&agent_id=a", "$.trace_id"),
    ],
)
def test_bytes_in_an_address_that_are_no_utf_8_are_refused_by_the_name_of_their_place(
    service: RunningService, path: str, field: str
) -> None:
    response = service.client.get(path)
    assert (response.status_code, response.json()["error_code"]) == (400, "INVALID_REQUEST")
    assert response.json()["fields"] == [field]
    assert response.json()["message"] == f"{field}: is not valid UTF-8"


def test_bytes_that_are_no_utf_8_in_an_operator_s_query_are_refused(service: RunningService) -> None:
    response = service.admin.get("/v1/admin/ingest_decisions?tenant_id=%FF")
    assert (response.status_code, response.json()["fields"]) == (400, ["$.tenant_id"])


@pytest.mark.parametrize(
    ("source_ref", "path"),
    [
        ({"log": "4 " * 8193}, '$.notes[1].source_ref["log"]'),
        ({"a": [{"b": "x" * 16_385}]}, '$.notes[1].source_ref["a"][0]["b"]'),
        ({"k" * 16_385: 1}, f'$.notes[1].source_ref["{"k" * 128}..."]'),
    ],
)
def test_a_string_of_a_reference_is_bounded_like_a_message(
    service: RunningService, tenant: str, source_ref: dict[str, Any], path: str
) -> None:
    answer = refused(
        service, "add_note", add_body(tenant, note("Fine."), note("Good.", source_ref=source_ref))
    )
    assert answer["fields"] == [path]
    assert answer["message"] == f"{path}: string or key should have at most 16384 characters"


def test_strings_of_a_reference_at_the_bound_are_stored(service: RunningService, tenant: str) -> None:
    source_ref = {"x" * 16_384: "y" * 16_384, "accents": ["\u00e9" * 16_384]}
    (added,) = service.add(tenant, note("Fine.", source_ref=source_ref))
    assert service.client.get(f"/v1/memory/notes/{added['note_id']}").json()["source_ref"] == source_ref


def test_a_body_of_too_many_values_is_refused(service: RunningService, tenant: str) -> None:
    answer = refused(service, "add_note", add_body(tenant, note("Fine.", source_ref={"k": [0] * 100_000})))
    assert "100,000 values" in answer["message"]


def test_a_reference_nested_too_deeply_is_refused_with_its_path(service: RunningService, tenant: str) -> None:
    deep: Any = "x"
    for _ in range(250):
        deep = [deep]
    (path,) = refused(service, "add_note", add_body(tenant, note("Fine.", source_ref={"k": deep})))["fields"]
    assert path.startswith('$.notes[0].source_ref["k"][0]')


@pytest.mark.parametrize("text", ["\u200b", "\u200b\u2060 \ufeff", "\u00ad\ufe0f"])
def test_text_of_which_nothing_can_be_seen_is_empty(service: RunningService, tenant: str, text: str) -> None:
    (result,) = service.add(tenant, note(text))
    assert (result["op"], result["reason_code"]) == ("REJECTED", "REJECT_EMPTY")
    assert refused(service, "search", search_body(tenant, text))["fields"] == ["$.query"]
    assert refused(service, "add_note", add_body(text, note("Fine.")))["fields"] == ["$.tenant_id"]
    assert refused(service, "add_note", add_body(tenant, note("Fine.", key=text)))["fields"] == [
        "$.notes[0].key"
    ]


@pytest.mark.parametrize(
    "char", ["\u2f00", "\u2e80", "\u3297", "\u32d0", "\u338f", "\ufe30", "\U0001f21a", "\U000323b0"]
)
def test_radicals_and_enclosed_and_squared_forms_are_cjk(
    service: RunningService, tenant: str, char: str
) -> None:
    response = service.post("add_note", add_body(tenant, note(f"Fact: {char}.", source_ref={char: 1})))
    assert (response.status_code, response.json()["error_code"]) == (422, "NON_ENGLISH_INPUT")
    assert response.json()["fields"] == ["$.notes[0].text", f'$.notes[0].source_ref["{char}"]']
