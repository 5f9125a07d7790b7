"""The OpenAPI document: it is valid, says what the service does, and its examples are taken by the service's parser."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from unittest.mock import ANY

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from pydantic import BaseModel

from elf.api.operation import Operation
from elf.core.blank_text import NOT_BLANK
from elf.core.cjk import contains_cjk
from elf.core.errors import InvalidRequest, NonEnglishInput
from elf.web.openapi import PUBLIC, openapi_document, response_at
from elf.web.parsing import parse_body, parse_values
from tests.fronts_kit import FRONTS

ALL = [(front, endpoint) for front, (endpoints, _) in FRONTS.items() for endpoint in endpoints]
EACH = pytest.mark.parametrize(("front", "operation"), ALL, ids=[endpoint.name for _, endpoint in ALL])


def entry_of(front: str, operation: Operation) -> dict[str, Any]:
    entry: dict[str, Any] = FRONTS[front][1]["paths"][operation.path][operation.method.lower()]
    return entry


def judge(front: str, schema: dict[str, Any]) -> Draft202012Validator:
    """A validator of a schema that may refer to the components of a front's document."""
    return Draft202012Validator(
        schema | {"components": FRONTS[front][1]["components"]},
        format_checker=Draft202012Validator.FORMAT_CHECKER,
    )


def body_schema(front: str, operation: Operation) -> dict[str, Any]:
    schema: dict[str, Any] = entry_of(front, operation)["requestBody"]["content"]["application/json"][
        "schema"
    ]
    return schema


@pytest.mark.parametrize("front", FRONTS)
def test_the_document_is_valid(front: str) -> None:
    validate(FRONTS[front][1])


@pytest.mark.parametrize("front", FRONTS)
def test_the_document_holds_no_unused_model_and_no_cjk_that_is_not_escaped_in_a_pattern(front: str) -> None:
    document = FRONTS[front][1]
    text = json.dumps(document)
    for name in document["components"]["schemas"]:
        assert f'"#/components/schemas/{name}"' in text
    pattern = document["components"]["schemas"]["EnglishText"]["pattern"]
    assert not contains_cjk(json.dumps(document).replace(json.dumps(pattern), ""))


@EACH
def test_every_operation_and_probe_is_described(front: str, operation: Operation) -> None:
    entry = entry_of(front, operation)
    assert entry["operationId"] == operation.name
    assert entry["summary"]
    always = {"200", "400", "500", "503"} | ({"408", "413"} if operation.method == "POST" else set())
    always |= {"422"} if operation.text == "english" else set()
    always |= {"409"} if operation.changes else set()  # whose it is may be being erased
    always |= {"404"} if operation.path_parameters else set()
    own = {str(error.status) for error in operation.errors}
    assert set(entry["responses"]) == always | own
    for answer in entry["responses"].values():
        assert "X-Request-Id" in response_at(answer, FRONTS[front][1])["headers"]
    assert "Retry-After" in response_at(entry["responses"]["503"], FRONTS[front][1])["headers"]
    assert set(FRONTS[front][1]["paths"]) > {"/health", "/ready"}


@EACH
def test_the_example_of_a_request_is_taken_by_the_schema_and_by_the_service(
    front: str, operation: Operation
) -> None:
    entry = entry_of(front, operation)
    given = {
        parameter["name"]: parameter["example"]
        for parameter in entry.get("parameters", ())
        if "example" in parameter
    }
    required = {parameter["name"] for parameter in entry.get("parameters", ()) if parameter["required"]}
    assert required <= set(given)
    if operation.method == "GET":
        parse_values(operation.request, {name: str(value) for name, value in given.items()})
        return
    example = entry["requestBody"]["content"]["application/json"]["example"]
    judge(front, body_schema(front, operation)).validate(example)
    parse_body(operation.request, json.dumps(example).encode(), given)


def fields_of(schema: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return list(schema.get("properties", {}).items())


@pytest.mark.parametrize("front", FRONTS)
def test_every_field_says_what_it_means(front: str) -> None:
    document = FRONTS[front][1]
    silent = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        for field, part in fields_of(schema)
        if not part.get("description") and "$ref" not in part
    ]
    silent += [
        f"{path}?{parameter['name']}"
        for path, methods in document["paths"].items()
        for entry in methods.values()
        for parameter in entry.get("parameters", ())
        if not parameter.get("description")
    ]
    assert silent == []


NOTE = {"type": "fact", "text": "A note.", "importance": 0.5, "confidence": 1}
CONTEXT = {"tenant_id": "t", "project_id": "p", "agent_id": "a"}
ADD = CONTEXT | {"scope": "s", "notes": [NOTE]}
SEARCH = CONTEXT | {"read_profile": "all_scopes", "query": "q"}
UPDATE = CONTEXT | {"note_id": "0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001"}


def with_note(**changes: Any) -> dict[str, Any]:
    return ADD | {"notes": [NOTE | changes]}


BODIES: list[tuple[str, dict[str, Any]]] = [
    ("add_note", ADD),
    ("add_note", {}),
    ("add_note", ADD | {"surprise": 1}),
    ("add_note", ADD | {"notes": []}),
    ("add_note", ADD | {"notes": [NOTE] * 257}),
    ("add_note", ADD | {"tenant_id": ""}),
    ("add_note", ADD | {"tenant_id": "  "}),
    ("add_note", ADD | {"tenant_id": "x" * 129}),
    ("add_note", ADD | {"tenant_id": "\u001e"}),
    ("add_note", ADD | {"tenant_id": "\u0085\u2003"}),
    ("add_note", ADD | {"tenant_id": "\ufeff"}),
    ("add_note", ADD | {"tenant_id": None}),
    ("add_note", ADD | {"tenant_id": "caf\u00e9 \U0001f600 \u0416"}),
    ("add_note", ADD | {"tenant_id": "\u4e2d"}),
    ("add_note", ADD | {"tenant_id": "a\u0000b"}),
    ("add_note", with_note(text="\U00020001")),
    ("add_note", with_note(text="\uac00")),
    ("add_note", with_note(text="two\nlines\n")),
    ("add_note", with_note(text="ends with \u3042\n")),
    ("add_note", with_note(key=None, ttl_days=None)),
    ("add_note", with_note(key="")),
    ("add_note", with_note(surprise=1)),
    ("add_note", with_note(importance=1.01)),
    ("add_note", with_note(importance="0.5")),
    ("add_note", with_note(importance=True)),
    ("add_note", with_note(ttl_days=36_500.5)),
    ("add_note", with_note(source_ref={"a": [1.5, None, {"b": [True, "x"]}]})),
    ("add_note", with_note(source_ref={"a": [{"b": ["\u4e2d"]}]})),
    ("add_note", with_note(source_ref={"\u4e2d": 1})),
    ("add_note", with_note(source_ref={"a": {"\u0000": 1}})),
    ("add_note", with_note(source_ref=None)),
    ("add_note", with_note(source_ref=[])),
    ("search", SEARCH),
    ("search", SEARCH | {"top_k": 0}),
    ("search", SEARCH | {"top_k": 100}),
    ("search", SEARCH | {"top_k": 1.5}),
    ("search", SEARCH | {"top_k": 5.0}),
    ("search", SEARCH | {"top_k": True}),
    ("search", SEARCH | {"top_k": None, "candidate_k": 1000}),
    ("search", SEARCH | {"candidate_k": 1001}),
    ("search", SEARCH | {"record_hits": None}),
    ("search", SEARCH | {"record_hits": 1}),
    ("search", SEARCH | {"query": "x" * 2049}),
    ("search", SEARCH | {"query": "\t"}),
    ("update_note", UPDATE),
    ("update_note", UPDATE | {"text": "x"}),
    ("update_note", UPDATE | {"ttl_days": None}),
    ("update_note", UPDATE | {"note_id": "x", "text": "x"}),
    ("delete_note", UPDATE),
    ("delete_note", UPDATE | {"text": "x"}),
    ("add_event", CONTEXT | {"messages": [{"role": "user", "content": ""}]}),
    ("add_event", CONTEXT | {"messages": [{"role": "system", "content": ""}]}),
    ("add_event", CONTEXT | {"messages": [{"role": "user", "content": "x" * 16_385}]}),
    ("add_event", CONTEXT | {"messages": [{"role": "user", "content": "x", "ts": 5}]}),
    ("add_event", CONTEXT | {"scope": None, "dry_run": "no", "messages": [{"role": "user", "content": "x"}]}),
]


def path_example(operation: Operation, name: str) -> str:
    return str((operation.request.model_fields[name].examples or [name])[0])


def is_taken(
    model: type[BaseModel], body: dict[str, Any], path_values: Mapping[str, str] | None = None
) -> bool:
    try:
        parse_body(model, json.dumps(body).encode(), path_values)
    except (InvalidRequest, NonEnglishInput):
        return False
    return True


@pytest.mark.parametrize(("name", "body"), BODIES)
def test_the_schema_and_the_parser_judge_a_body_alike(name: str, body: dict[str, Any]) -> None:
    (operation,) = [endpoint for _, endpoint in ALL if endpoint.name == name]
    by_schema = judge("public", body_schema("public", operation)).is_valid(body)
    assert by_schema == is_taken(operation.request, body)


def test_a_body_does_not_hold_what_its_path_gives() -> None:
    (restore,) = [endpoint for _, endpoint in ALL if endpoint.name == "restore_note"]
    schema = body_schema("public", restore)
    assert "note_id" not in schema["properties"]
    assert "note_id" not in schema["required"]
    assert [parameter["name"] for parameter in entry_of("public", restore)["parameters"]] == ["note_id"]


@EACH
def test_a_body_is_required_when_something_is_asked_of_it(front: str, operation: Operation) -> None:
    if operation.method == "POST":
        required = entry_of(front, operation)["requestBody"]["required"]
        path = {name: path_example(operation, name) for name in operation.path_parameters}
        assert required == (not is_taken(operation.request, {}, path))


def test_the_pattern_of_english_text_is_read_alike_by_other_engines() -> None:
    pattern = FRONTS["public"][1]["components"]["schemas"]["EnglishText"]["pattern"]
    assert re.fullmatch(r"\^\[\^(\\u[0-9A-F]{4}|[\U00010000-\U0010ffff]|-)+\]\*\$", pattern)


@pytest.mark.parametrize("white", [chr(point) for point in range(0x110000) if chr(point).isspace()])
def test_white_space_is_blank_but_for_the_separators_of_ascii(white: str) -> None:
    assert (re.search(NOT_BLANK, white) is not None) == (white in "\x1c\x1d\x1e\x1f")


@pytest.mark.parametrize("front", FRONTS)
def test_a_front_that_asks_who_calls_says_how_to_prove_it(front: str) -> None:
    operations, plain = FRONTS[front]
    document = openapi_document(operations, replace(PUBLIC, asks_who=True))
    validate(document)
    assert document["security"] == [{"bearer": []}, {"key": []}, {"bearer": [], "key": []}]
    assert {**document["components"]["securitySchemes"]} == {"bearer": ANY, "key": ANY}
    assert "X-API-Key" in document["info"]["description"]
    for operation in operations:
        entry = document["paths"][operation.path][operation.method.lower()]
        before = plain["paths"][operation.path][operation.method.lower()]
        assert {*entry["responses"]} == {*before["responses"], "401", "403"}
        assert "security" not in entry
        assert "wrong" in response_at(entry["responses"]["401"], document)["description"]
        assert "bound" in response_at(entry["responses"]["403"], document)["description"]
    for path in ("/health", "/ready"):
        assert document["paths"][path]["get"]["security"] == []
        assert "401" not in document["paths"][path]["get"]["responses"]


@pytest.mark.parametrize("front", FRONTS)
def test_a_front_that_asks_nobody_says_nothing_of_it(front: str) -> None:
    text = json.dumps(FRONTS[front][1])
    for word in ("security", "bearer", "X-API-Key", "Unauthorized"):
        assert word not in text
