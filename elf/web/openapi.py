"""The OpenAPI 3.1 document of a front, made from the endpoints and models that it serves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Final, TypeAlias

from pydantic import BaseModel

from elf.api.error_style import ErrorStyle
from elf.api.json_bounds import MAX_VALUES
from elf.api.operation import WATCHED_BY, Operation, Stream, Watchable
from elf.core.body_budget import DEFAULT_TIMEOUT_S, MIN_BYTES_PER_S
from elf.core.errors import (
    Conflict,
    ErasureInProgress,
    Forbidden,
    InternalError,
    InvalidRequest,
    NonEnglishInput,
    NotFound,
    NotOffered,
    PayloadTooLarge,
    ScopeDenied,
    ServiceError,
    Unauthorized,
    Unavailable,
)
from elf.core.json_size import MAX_LONG_DIGITS
from elf.web.event_stream import EVENT_STREAM
from elf.web.examples import example_of
from elf.web.failures import ELF_STYLE, MAX_BODY_BYTES, ErrorBody
from elf.web.readiness import Health, Readiness
from elf.web.response import JSON
from elf.web.schemas import ModelSchemas, Schema, resolved, without_null
from elf.web.security_schemes import REFUSALS, asked_who, with_schemes

Document: TypeAlias = dict[str, Any]
BODY_TIMEOUT: Final = "BodyTimeout"
SERVICE: Final = "service"
PROBES: Final = ("/health", "/ready")


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a front is, in words; paragraphs of `description` are separated by empty lines.

    `asks_who` when its callers have to prove who they are.
    """

    title: str
    description: str
    asks_who: bool = False


RULES = f"""\
Bodies are JSON, whatever Content-Type says. Unknown fields, and query parameters given twice, are refused, so that a \
misspelt one does not vanish; so are bytes in an address that are no UTF-8. Numbers are not written in quotes; 5.0 is \
the whole number 5, as in JSON. A body is {MAX_BODY_BYTES} bytes and {MAX_VALUES:,} values at most and has to arrive \
within {DEFAULT_TIMEOUT_S:g} seconds, and one more for each {MIN_BYTES_PER_S} bytes, unless the config says otherwise. \
Numbers with an exponent or of 25 characters and more have {MAX_LONG_DIGITS:,} digits in all at most, written out \
without exponents, as Postgres keeps them.

Every answer has the header X-Request-Id: the UUID that the request sent under that name, or a new one. Every error \
has the same body, whose `fields` are the paths at fault.

Browsers may call from pages of this machine only: a request whose Origin is another site is refused with 400, \
and one for a host that is not served with 421."""

PUBLIC = About(
    title="ELF memory API",
    description="Evidence-linked fact memory for agents: short notes, where each comes from, and a search that finds "
    "the right ones; beside them what agents learn, conversations, and graphs of what orchestrators know. "
    "Notes are English: CJK characters in them are refused with 422.",
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
# These are told where an operation may meet them.
OCCASIONAL: Final[Mapping[type[ServiceError], str]] = {
    Unauthorized: "Nobody knows who asks.",
    Forbidden: "Who asks may not do this.",
    Conflict: "It does not go together with what is there already.",
    ErasureInProgress: "The tenant, user or agent that owns the data is being erased.",
    NotOffered: "This service, as it is configured, does not do this.",
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

WATCHED: Final[Document] = {
    "name": WATCHED_BY,
    "in": "query",
    "required": False,
    "description": "true: the answer is a stream of how it goes, as for who accepts server-sent events.",
    "schema": {"type": "boolean", "default": False},
}


def openapi_document(operations: Sequence[Operation], about: About) -> Document:
    """Return the document as JSON-compatible data."""
    if not about.asks_who:
        return _document(operations, about, OCCASIONAL)
    asking = [asked_who(operation) for operation in operations]
    open_paths = [*PROBES, *(operation.path for operation in operations if operation.is_open)]
    return with_schemes(_document(asking, about, {**OCCASIONAL, **REFUSALS}), open_paths)


def _document(
    operations: Sequence[Operation], about: About, occasional: Mapping[type[ServiceError], str]
) -> Document:
    schemas = ModelSchemas(
        requests=[operation.request for operation in operations if operation.text == "english"],
        any_text=[operation.request for operation in operations if operation.text == "any"],
        responses=[*_answers(operations), *_styles(operations), Health, Readiness],
    )
    failures = _failure_responses(schemas, operations, occasional)
    paths: dict[str, Any] = {}
    for operation in operations:
        entry = _entry(operation, schemas, failures)
        paths.setdefault(operation.path, {})[operation.method.lower()] = entry
    paths |= _probes(schemas)
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
    watched = [one.event for one in operations if isinstance(one, Watchable)]
    return [
        *watched,
        *(model for one in operations for model in (one.response, one.brief) if model is not None),
    ]


def _styles(operations: Sequence[Operation]) -> list[type[BaseModel]]:
    own = [operation.error_style.body for operation in operations if operation.error_style is not None]
    return [ErrorBody, *own]


def response_at(answer: Document, document: Document) -> Document:
    """Return an answer of an operation, or what it refers to."""
    if "$ref" in answer:
        found: Document = document["components"]["responses"][answer["$ref"].removeprefix(RESPONSES)]
        return found
    return answer


def _entry(operation: Operation, schemas: ModelSchemas, failures: Document) -> Document:
    entry: Document = {
        "operationId": operation.name,
        "summary": operation.summary,
        "tags": [operation.tag or SERVICE],
    }
    schema = schemas.request(operation.request)
    if "description" in schema:
        entry["description"] = schema["description"]
    in_path = operation.path_parameters
    beside = (*in_path, *operation.query)
    names = beside if operation.has_body else tuple(schema.get("properties", {}))
    if names:
        entry["parameters"] = [_parameter(name, schema, schemas, in_path=name in in_path) for name in names]
    if operation.has_body:
        entry["requestBody"] = _body(schemas, operation)
    entry["responses"] = {str(operation.status): _success(operation, schemas)} | _failed(operation, failures)
    if isinstance(operation, Watchable):
        entry.setdefault("parameters", []).append(WATCHED)
        entry["responses"]["200"] = _events(operation.event, schemas)
    entry["responses"] = dict(sorted(entry["responses"].items()))
    return entry


def _failed(operation: Operation, failures: Document) -> Document:
    """Return the answers that are errors, by status; of two kinds with one status, what is said of either."""
    prefix = _prefix(operation)
    by_status: dict[str, list[str]] = {}
    for failure in _failures(operation):
        by_status.setdefault(str(failure.status), []).append(prefix + failure.__name__)
    if operation.has_body:
        by_status["408"] = [prefix + BODY_TIMEOUT]
    return {status: _either(names, failures) for status, names in by_status.items()}


def _either(names: Sequence[str], failures: Document) -> Document:
    if len(names) == 1:
        return {"$ref": RESPONSES + names[0]}
    answers = [failures[name] for name in names]
    meaning = " Or: ".join(answer["description"] for answer in answers)
    return _answer(meaning, {"anyOf": [answer["content"][JSON]["schema"] for answer in answers]})


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
    if operation.body is None:
        schema = schemas.body(operation.request, but_not=(*operation.path_parameters, *operation.query))
    else:
        schema = schemas.request(operation.request)["properties"][operation.body]
    example = example_of(schema, schemas.components)
    body: Document = {
        "required": _is_required(operation, schema, schemas),
        "content": {JSON: {"schema": schema, "example": example}},
    }
    if operation.max_body_bytes is not None:
        body["description"] = f"At most {operation.max_body_bytes} bytes."
    return body


def _is_required(operation: Operation, schema: Schema, schemas: ModelSchemas) -> bool:
    if operation.body is not None:
        return operation.request.model_fields[operation.body].is_required()
    return bool(resolved(schema, schemas.components).get("required"))


def _success(operation: Operation, schemas: ModelSchemas) -> Document:
    if operation.response is None:
        return _empty("Done.")
    schema = schemas.response(operation.response)
    meaning = resolved(schema, schemas.components).get("description", operation.summary)
    if isinstance(operation, Stream):
        return _events(operation.response, schemas)
    if operation.brief is None:
        return _answer(meaning, schema)
    return _answer(meaning, {"anyOf": [schema, schemas.response(operation.brief)]})


def _events(model: type[BaseModel], schemas: ModelSchemas) -> Document:
    """Return the answer that is a stream."""
    schema = schemas.response(model)
    meaning = resolved(schema, schemas.components).get("description", "How it goes.")
    return _empty(meaning) | {"content": {EVENT_STREAM: {"schema": _event(schema)}}}


def _event(schema: Schema) -> Schema:
    """Return what one event of a stream is: its data is JSON, written as a string."""
    data = {"type": "string", "contentMediaType": JSON, "contentSchema": schema}
    return {"type": "object", "properties": {"event": {"type": "string"}, "data": data}, "required": ["data"]}


def _failures(operation: Operation) -> Sequence[type[ServiceError]]:
    own = list(operation.errors)
    if operation.needs_user:
        own.append(Unauthorized)
    if operation.role is not None:
        own += [Unauthorized, Forbidden]
    if operation.has_body:
        own.append(PayloadTooLarge)
    if operation.path_parameters:
        own.append(NotFound)
    if operation.changes:
        own.append(ErasureInProgress)
    always = [failure for failure in ALWAYS if failure is not NonEnglishInput or operation.text == "english"]
    return list(dict.fromkeys([*always, *own]))


def _empty(description: str) -> Document:
    return {
        "description": description,
        "headers": {"X-Request-Id": {"$ref": "#/components/headers/RequestId"}},
    }


def _answer(description: str, schema: Schema) -> Document:
    return _empty(description) | {"content": {JSON: {"schema": schema}}}


def _failure_responses(
    schemas: ModelSchemas, operations: Sequence[Operation], occasional: Mapping[type[ServiceError], str]
) -> Document:
    """Return the answers that are errors: those of the front's own style, then those of operations with another."""
    met = {failure for operation in operations for failure in _failures(operation)}
    meanings = {**MEANINGS, **{failure: text for failure, text in occasional.items() if failure in met}}
    responses = _in_style(schemas, ELF_STYLE, "", meanings)
    for operation in operations:
        if operation.error_style is not None:
            responses |= _in_style(schemas, operation.error_style, _prefix(operation), meanings)
    return responses


def _prefix(operation: Operation) -> str:
    return "" if operation.error_style is None else f"{operation.error_style.body.__name__}."


def _in_style(
    schemas: ModelSchemas, style: ErrorStyle, prefix: str, meanings: Mapping[type[ServiceError], str]
) -> Document:
    body = schemas.response(style.body)
    responses = {
        prefix + failure.__name__: _failure(body, failure, meaning, has_code=style is ELF_STYLE)
        for failure, meaning in meanings.items()
    }
    responses[prefix + Unavailable.__name__]["headers"]["Retry-After"] = {
        "$ref": "#/components/headers/RetryAfter"
    }
    meaning = "The body did not arrive in time."
    responses[prefix + BODY_TIMEOUT] = _failure(body, InvalidRequest, meaning, has_code=style is ELF_STYLE)
    return responses


def _failure(body: Schema, failure: type[ServiceError], meaning: str, *, has_code: bool) -> Document:
    code = {"properties": {"error_code": {"const": failure.error_code}}}
    return _answer(meaning, {"allOf": [body, code]} if has_code else body)


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
