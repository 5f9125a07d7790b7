"""The OpenAPI 3.1 document of a front, made from the endpoints and models that it serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from elf.api.operation import Operation
from elf.core.errors import (
    InternalError,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    PayloadTooLarge,
    ScopeDenied,
    ServiceError,
    Unavailable,
)
from elf.core.json_size import MAX_LONG_DIGITS
from elf.web.examples import example_of
from elf.web.failures import BODY_TIMEOUT_S, MAX_BODY_BYTES, ErrorBody
from elf.web.parsing import MAX_VALUES
from elf.web.readiness import Health, Readiness
from elf.web.rendering import JSON
from elf.web.schemas import ModelSchemas, Schema, resolved, without_null

Document: TypeAlias = dict[str, Any]
BODY_TIMEOUT: Final = "BodyTimeout"
SERVICE: Final = "service"


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a front is, in words; paragraphs of `description` are separated by empty lines."""

    title: str
    description: str


RULES = f"""\
Bodies are JSON, whatever Content-Type says. Unknown fields, and query parameters given twice, are refused, so that a \
misspelt one does not vanish; so are bytes in an address that are no UTF-8. Numbers are not written in quotes; 5.0 is \
the whole number 5, as in JSON. A body is {MAX_BODY_BYTES} bytes and {MAX_VALUES:,} values at most and has to arrive \
within {BODY_TIMEOUT_S} seconds. Numbers with an exponent or of 25 characters and more have {MAX_LONG_DIGITS:,} digits \
in all at most, written out without exponents, as Postgres keeps them.

Every answer has the header X-Request-Id: the UUID that the request sent under that name, or a new one. Every error \
has the same body, whose `fields` are the paths at fault.

Browsers may call from pages of this machine only: a request whose Origin is another site is refused with 400."""

PUBLIC = About(
    title="ELF memory API",
    description="Evidence-linked fact memory for agents: short notes, where each comes from, and a search that finds "
    "the right ones. All text is English; CJK characters are refused with 422.",
)
ADMIN = About(
    title="ELF admin API",
    description="For operators of ELF, and reachable from its own machine only.",
)

MEANINGS: Final[Mapping[type[ServiceError], str]] = {
    InvalidRequest: "The request is malformed, out of bounds, or names something that cannot be.",
    ScopeDenied: "The scope does not exist or may not be used for this.",
    NotFound: "There is no such thing within the context given, or nothing at this path.",
    PayloadTooLarge: "The body is larger than the service takes.",
    NonEnglishInput: "The request holds CJK text; `fields` says where.",
    InternalError: "The service failed; its log says why, under the request id.",
    Unavailable: "Something the request needs is away or too busy; try again after Retry-After seconds.",
}
ALWAYS: Final = (InvalidRequest, NonEnglishInput, InternalError, Unavailable)
PROBES_MEET: Final = (InvalidRequest, InternalError)
RESPONSES: Final = "#/components/responses/"
HEADERS: Final[Document] = {
    "RequestId": {
        "description": "The id under which the log knows the request.",
        "required": True,
        "schema": {"type": "string", "format": "uuid"},
    },
    "RetryAfter": {
        "description": "Seconds after which to try again.",
        "required": True,
        "schema": {"type": "integer", "minimum": 0},
    },
}


def openapi_document(operations: Sequence[Operation], about: About) -> Document:
    """Return the document as JSON-compatible data."""
    schemas = ModelSchemas(
        requests=[operation.request for operation in operations],
        responses=[*_answers(operations), ErrorBody, Health, Readiness],
    )
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _entry(operation, schemas)
    paths |= _probes(schemas)
    failures = _failure_responses(schemas)
    tags = dict.fromkeys([*(operation.tag for operation in operations if operation.tag), SERVICE])
    return {
        "openapi": "3.1.0",
        "info": {
            "title": about.title,
            "version": version("elf-memory"),
            "description": f"{about.description}\n\n{RULES}",
        },
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": schemas.used_in([paths, failures]),
            "responses": failures,
            "headers": HEADERS,
        },
    }


def _answers(operations: Sequence[Operation]) -> list[type[BaseModel]]:
    return [model for one in operations for model in (one.response, one.brief) if model is not None]


def response_at(answer: Document, document: Document) -> Document:
    """Return an answer of an operation, or what it refers to."""
    if "$ref" in answer:
        found: Document = document["components"]["responses"][answer["$ref"].removeprefix(RESPONSES)]
        return found
    return answer


def _entry(operation: Operation, schemas: ModelSchemas) -> Document:
    entry: Document = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag or SERVICE],
    }
    schema = schemas.request(operation.request)
    if "description" in schema:
        entry["description"] = schema["description"]
    in_path = operation.path_parameters
    names = in_path if operation.method == "POST" else tuple(schema.get("properties", {}))
    if names:
        entry["parameters"] = [_parameter(name, schema, schemas, in_path=name in in_path) for name in names]
    if operation.method == "POST":
        entry["requestBody"] = _body(schemas, operation)
    entry["responses"] = {"200": _success(operation, schemas)} | {
        str(failure.status): {"$ref": f"{RESPONSES}{failure.__name__}"} for failure in _failures(operation)
    }
    if operation.method == "POST":
        entry["responses"]["408"] = {"$ref": RESPONSES + BODY_TIMEOUT}
    entry["responses"] = dict(sorted(entry["responses"].items()))
    return entry


def _parameter(name: str, schema: Schema, schemas: ModelSchemas, *, in_path: bool) -> Document:
    part = without_null(schema["properties"][name])
    required = in_path or name in schema.get("required", ())
    parameter: Document = {"name": name, "in": "path" if in_path else "query", "required": required}
    if "description" in part:
        parameter["description"] = part["description"]
    if "examples" in part:
        parameter["example"] = part["examples"][0]
    parameter["schema"] = {
        key: value for key, value in part.items() if key not in ("description", "examples")
    }
    return parameter


def _body(schemas: ModelSchemas, operation: Operation) -> Document:
    schema = schemas.body(operation.request, but_not=operation.path_parameters)
    example = example_of(schema, schemas.components)
    return {
        "required": bool(resolved(schema, schemas.components).get("required")),
        "content": {JSON: {"schema": schema, "example": example}},
    }


def _success(operation: Operation, schemas: ModelSchemas) -> Document:
    schema = schemas.response(operation.response)
    meaning = resolved(schema, schemas.components).get("description", operation.summary)
    if operation.brief is None:
        return _answer(meaning, schema)
    return _answer(meaning, {"anyOf": [schema, schemas.response(operation.brief)]})


def _failures(operation: Operation) -> Sequence[type[ServiceError]]:
    own = list(operation.errors)
    if operation.method == "POST":
        own.append(PayloadTooLarge)
    if operation.path_parameters:
        own.append(NotFound)
    return list(dict.fromkeys([*ALWAYS, *own]))


def _answer(description: str, schema: Schema) -> Document:
    return {
        "description": description,
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
        "content": {JSON: {"schema": schema}},
    }


def _failure_responses(schemas: ModelSchemas) -> Document:
    responses: Document = {}
    for failure, meaning in MEANINGS.items():
        responses[failure.__name__] = _failure(schemas, failure, meaning)
    responses[Unavailable.__name__]["headers"]["Retry-After"] = {"$ref": "#/components/headers/RetryAfter"}
    meaning = f"The body did not arrive within {BODY_TIMEOUT_S} seconds."
    responses[BODY_TIMEOUT] = _failure(schemas, InvalidRequest, meaning)
    return responses


def _failure(schemas: ModelSchemas, failure: type[ServiceError], meaning: str) -> Document:
    code = {"properties": {"error_code": {"const": failure.error_code}}}
    return _answer(meaning, {"allOf": [schemas.response(ErrorBody), code]})


def _probes(schemas: ModelSchemas) -> Document:
    always = {str(failure.status): {"$ref": f"{RESPONSES}{failure.__name__}"} for failure in PROBES_MEET}
    readiness = schemas.response(Readiness)
    health: Document = {
        "operationId": "health",
        "summary": "Say that the process runs",
        "tags": [SERVICE],
        "responses": {"200": _answer("It runs.", schemas.response(Health))} | always,
    }
    ready: Document = {
        "operationId": "ready",
        "summary": "Say whether every part is ready",
        "tags": [SERVICE],
        "responses": {
            "200": _answer("Every part is ready.", readiness),
            "503": _answer("Some part is not ready; `parts` says which.", readiness),
        }
        | always,
    }
    return {"/health": {"get": health}, "/ready": {"get": ready}}
