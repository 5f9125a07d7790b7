"""What binds a caller holds in every request: in bodies, query strings, paths and bodies that are lists."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict
from werkzeug.datastructures import Headers

from elf.api.binding import bound_values
from elf.api.caller import Caller
from elf.api.operation import Operation
from elf.config.limits import Limits
from elf.core.errors import InvalidRequest, NonEnglishInput, ScopeDenied, ServiceError
from elf.core.slices import at_once
from elf.families.notes.api.requests import AddNoteRequest, DeleteRequest, GetNoteRequest, ListRequest
from elf.web.admission import Admission
from elf.web.app import create_app
from elf.web.parsing import parse_values, reading_body
from elf.web.readiness import Readiness

CONTEXT = ("tenant_id", "project_id", "agent_id")
NOTE_ID = "0b8ff2a0-5d0c-4f1e-9c3a-7a51d3a7c001"
# No name in them is blank, and none is a credential.
NAMES = st.text("abcdef", min_size=1, max_size=8)
PLACES = st.fixed_dictionaries(dict.fromkeys(CONTEXT, NAMES))
BINDINGS = st.sets(st.sampled_from(CONTEXT))
JSON_VALUES = st.recursive(
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=4,
)


class Toys(BaseModel):
    """A body that is a list, for a place in the path."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    tenant_id: str
    toys: list[str]


def bound_by(place: Mapping[str, str], names: set[str]) -> Caller:
    return Caller(client="bot", bound={name: place[name] for name in names})


def read(model: type[BaseModel], values: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """A body of these values as its handler gets it."""
    return at_once(reading_body(model, json.dumps(values).encode(), caller=caller)).model_dump(mode="json")


def refused(parse: Callable[[], object], kind: type[ServiceError]) -> ServiceError:
    with pytest.raises(ServiceError) as caught:
        parse()
    assert type(caught.value) is kind
    return caught.value


# Bodies


@given(place=PLACES, bound=BINDINGS, left_out=BINDINGS, empty=st.booleans())
def test_what_a_body_leaves_out_is_filled_in(
    place: dict[str, str], bound: set[str], left_out: set[str], empty: bool
) -> None:
    """A field that binds may be left out, be null, or be given with the value that it has anyway."""
    assume(left_out <= bound)
    given = {name: value for name, value in place.items() if name not in left_out}
    nulls = dict.fromkeys(left_out) if empty else {}
    request = read(DeleteRequest, {**given, **nulls, "note_id": NOTE_ID}, bound_by(place, bound))
    assert request == {**place, "note_id": NOTE_ID}


@given(place=PLACES, bound=BINDINGS, other=st.dictionaries(st.sampled_from(CONTEXT), JSON_VALUES))
def test_another_value_is_refused_by_its_path_whatever_it_is(
    place: dict[str, str], bound: set[str], other: dict[str, Any]
) -> None:
    wrong = {name for name in bound & other.keys() if other[name] != place[name]}
    assume(wrong)
    body = {**place, **other, "note_id": NOTE_ID}
    error = refused(lambda: read(DeleteRequest, body, bound_by(place, bound)), ScopeDenied)
    assert {*error.fields} == {f"$.{name}" for name in wrong}
    assert all(path in error.message for path in error.fields)


@given(place=PLACES, bound=BINDINGS)
def test_what_does_not_bind_has_to_be_given_as_ever(place: dict[str, str], bound: set[str]) -> None:
    open_fields = {*CONTEXT} - bound
    assume(open_fields)
    error = refused(lambda: read(DeleteRequest, {"note_id": NOTE_ID}, bound_by(place, bound)), InvalidRequest)
    assert {*error.fields} == {f"$.{name}" for name in open_fields}


@pytest.mark.parametrize(
    "text", ['"ACME"', '"acme "', '" acme"', '"%"', '""', '["acme"]', '{"acme": 1}', "0", "true"]
)
def test_nothing_that_is_merely_like_the_value_passes(text: str) -> None:
    body = f'{{"tenant_id": {text}, "project_id": "p", "agent_id": "a", "note_id": "{NOTE_ID}"}}'
    caller = Caller(bound={"tenant_id": "acme"})
    error = refused(lambda: at_once(reading_body(DeleteRequest, body.encode(), caller=caller)), ScopeDenied)
    assert error.fields == ("$.tenant_id",)
    assert "acme" not in error.message


def test_the_last_of_two_values_in_a_body_is_the_one_that_is_held_against_the_binding() -> None:
    body = f'{{"tenant_id": "acme", "tenant_id": "other", "project_id": "p", "agent_id": "a", "note_id": "{NOTE_ID}"}}'
    caller = Caller(bound={"tenant_id": "acme"})
    refused(lambda: at_once(reading_body(DeleteRequest, body.encode(), caller=caller)), ScopeDenied)
    turned = body.replace('"acme"', '"x"').replace('"other"', '"acme"')
    assert at_once(reading_body(DeleteRequest, turned.encode(), caller=caller)).tenant_id == "acme"


def test_a_body_may_be_left_out_when_what_binds_is_all_that_is_asked() -> None:
    class Asking(BaseModel):
        tenant_id: str

    caller = Caller(bound={"tenant_id": "acme"})
    assert at_once(reading_body(Asking, b"", caller=caller)).tenant_id == "acme"
    refused(lambda: at_once(reading_body(Asking, b"")), InvalidRequest)
    refused(lambda: at_once(reading_body(Asking, b"[]", caller=caller)), InvalidRequest)


def test_a_binding_to_what_a_request_does_not_have_changes_nothing() -> None:
    caller = Caller(bound={"read_profile": "private_only"})
    body = {"tenant_id": "t", "project_id": "p", "agent_id": "a", "note_id": NOTE_ID}
    assert read(DeleteRequest, body, caller) == body
    error = refused(
        lambda: read(DeleteRequest, {**body, "read_profile": "private_only"}, caller), InvalidRequest
    )
    assert error.fields == ("$.read_profile",)


def test_what_binds_is_text_like_any_other() -> None:
    """It gets into the same fields, so it keeps the same rules."""
    body = {"project_id": "p", "agent_id": "a", "note_id": NOTE_ID}
    for value, kind in (("\u4e2d", NonEnglishInput), ("a\x00b", InvalidRequest), (" ", InvalidRequest)):
        error = refused(
            lambda value=value: read(DeleteRequest, body, Caller(bound={"tenant_id": value})), kind
        )
        assert error.fields == ("$.tenant_id",)


def test_the_notes_within_a_body_name_no_context_of_their_own() -> None:
    note = {"type": "fact", "text": "Fact: x.", "importance": 0.5, "confidence": 0.5, "tenant_id": "other"}
    caller = Caller(bound=dict.fromkeys(CONTEXT, "x"))
    body = {"scope": "project_shared", "notes": [note]}
    assert refused(lambda: read(AddNoteRequest, body, caller), InvalidRequest).fields == (
        "$.notes[0].tenant_id",
    )


# Query strings and paths


@given(place=PLACES, bound=BINDINGS, left_out=BINDINGS)
def test_a_query_string_is_filled_in_too(place: dict[str, str], bound: set[str], left_out: set[str]) -> None:
    assume(left_out <= bound)
    given = {name: value for name, value in place.items() if name not in left_out}
    request = parse_values(GetNoteRequest, {**given, "note_id": NOTE_ID}, caller=bound_by(place, bound))
    assert request.model_dump(mode="json") == {**place, "note_id": NOTE_ID}


@given(place=PLACES, bound=BINDINGS, other=st.dictionaries(st.sampled_from(CONTEXT), NAMES | st.just("")))
def test_another_value_in_a_query_string_is_refused_by_its_path(
    place: dict[str, str], bound: set[str], other: dict[str, str]
) -> None:
    wrong = {name for name in bound & other.keys() if other[name] != place[name]}
    assume(wrong)
    values = {**place, **other, "note_id": NOTE_ID}
    error = refused(lambda: parse_values(GetNoteRequest, values, caller=bound_by(place, bound)), ScopeDenied)
    assert {*error.fields} == {f"$.{name}" for name in wrong}


def test_what_the_path_says_is_held_against_the_binding() -> None:
    caller = Caller(bound={"tenant_id": "acme"})

    def posted(tenant: str, body: bytes) -> Toys:
        reading = reading_body(Toys, body, {"tenant_id": tenant}, caller=caller, whole="toys")
        return at_once(reading)

    assert posted("acme", b'["a bear"]').tenant_id == "acme"
    assert refused(lambda: posted("other", b'["a bear"]'), ScopeDenied).fields == ("$.tenant_id",)


def test_a_body_that_is_a_list_is_filled_in_beside_it() -> None:
    caller = Caller(bound={"tenant_id": "acme"})
    request = at_once(reading_body(Toys, b'["a bear"]', caller=caller, whole="toys"))
    assert request == Toys(tenant_id="acme", toys=["a bear"])
    error = refused(
        lambda: at_once(reading_body(Toys, b'["a bear", 1]', caller=caller, whole="toys")), InvalidRequest
    )
    assert error.fields == ("$[1]",)
    error = refused(lambda: at_once(reading_body(Toys, b'["a bear"]', whole="toys")), InvalidRequest)
    assert error.fields == ("$.tenant_id",)


# What may not be left out, and what may not be used


def test_what_a_caller_needs_to_say_is_not_optional_for_it() -> None:
    asked = Caller(client="bot", needed=frozenset({"tenant_id"}))
    error = refused(lambda: parse_values(GetNoteRequest, {"note_id": NOTE_ID}, caller=asked), InvalidRequest)
    assert (error.message, error.fields) == ("$.tenant_id: is missing", ("$.tenant_id",))
    parse_values(GetNoteRequest, {"note_id": NOTE_ID, "tenant_id": "t"}, caller=asked)
    parse_values(GetNoteRequest, {"note_id": NOTE_ID})


def test_a_field_that_is_denied_is_refused_even_where_it_may_be_left_out() -> None:
    denied = Caller(user="ana", denied={"project_id": "this token is bound to no project"})
    for values in ({"note_id": NOTE_ID}, {"note_id": NOTE_ID, "project_id": "p"}):
        error = refused(
            lambda values=values: parse_values(GetNoteRequest, values, caller=denied), ScopeDenied
        )
        assert error.message == "$.project_id: this token is bound to no project"
        assert error.fields == ("$.project_id",)


@given(place=PLACES, bound=BINDINGS)
def test_a_caller_changes_nothing_of_the_values_given(place: dict[str, str], bound: set[str]) -> None:
    values = {name: place[name] for name in CONTEXT if name not in bound}
    before = dict(values)
    assert bound_values(ListRequest, values, bound_by(place, bound)) == {
        **values,
        **{n: place[n] for n in bound},
    }
    assert values == before


# Within the application


class Asked(BaseModel):
    tenant_id: str = "nobody"


LOOK = Operation("look", "GET", "/v1/look", "Look", Asked, Asked)
PUT = Operation("put", "POST", "/v1/put", "Put", Asked, Asked)
PUT_THERE = Operation("put_there", "POST", "/v1/{tenant_id}/put", "Put", Asked, Asked)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tenants by which requests waited for their turn."""
    seen: list[str] = []
    turn = Admission.turn
    monkeypatch.setattr(
        Admission,
        "turn",
        lambda self, operation, tenant: seen.append(tenant) or turn(self, operation, tenant),
    )
    return seen


@pytest.fixture
async def client(counted: list[str]) -> AsyncIterator[httpx.AsyncClient]:
    """Answers with the tenant of a request. Who calls is bound to that of the header X-Tenant, if there is one."""

    async def identify(headers: Headers) -> Caller:
        tenant = headers.get("X-Tenant")
        return Caller(client="bot", bound={"tenant_id": tenant} if tenant else {})

    async def answer(request: Asked, caller: Caller) -> Asked:
        assert caller.client == "bot"
        return request

    app = create_app(
        [LOOK, PUT, PUT_THERE],
        dict.fromkeys(["look", "put", "put_there"], answer),
        readiness=lambda: Readiness(ready=True, parts=[]),
        admission=Admission(Limits()),
        identify=identify,
    )
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://elf") as client:
        yield client


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_requests_wait_in_turn_by_the_tenant_that_binds_and_else_by_the_one_they_name(
    client: httpx.AsyncClient, counted: list[str]
) -> None:
    bound = {"X-Tenant": "acme"}
    served = [
        await client.post("/v1/put", headers=bound),
        await client.post("/v1/put", headers=bound, json={"tenant_id": "acme"}),
        await client.get("/v1/look", headers=bound),
        await client.post("/v1/acme/put"),
        await client.post("/v1/put", json={"tenant_id": "acme"}),
        await client.get("/v1/look", params={"tenant_id": "acme"}),
    ]
    assert [answer.json() for answer in served] == [{"tenant_id": "acme"}] * 6
    assert counted == ["acme"] * 6


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_whoever_names_others_counts_as_the_tenant_that_binds_it(
    client: httpx.AsyncClient, counted: list[str]
) -> None:
    bound = {"X-Tenant": "acme"}
    denied = [
        await client.post("/v1/put", headers=bound, json={"tenant_id": "other"}),
        await client.post("/v1/other/put", headers=bound),
        await client.get("/v1/look", headers=bound, params={"tenant_id": "other"}),
    ]
    assert [(one.status_code, one.json()["error_code"], one.json()["fields"]) for one in denied] == [
        (403, "SCOPE_DENIED", ["$.tenant_id"])
    ] * 3
    assert counted == ["acme"] * 3
