"""The client of the store: it can ask for all that is offered, and reads what it is told."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import httpx
import msgspec
import pytest
from answering import URL, Script
from family_calls import call_of, taken

from elf.client import NO_RETRIES, Client
from elf.client.call import Call
from elf.client.families import store
from elf.client.families.store import StoreClient
from elf.client.family import methods_of
from elf.families.store.api import operations as a
from elf.families.store.manifest import STORE

AT = {"namespace": ["users"], "key": "k"}
SAMPLES: Mapping[str, Any] = {
    **AT, "value": {"a": [1, None]}, "index": ["a[*]"], "is_indexed": True, "ttl": 1.5, "refresh_ttl": False,
    "query": "tea", "filter": {"n": {"$gt": 1}}, "limit": 5, "offset": 1, "prefix": ["*"], "suffix": ["b"],
    "max_depth": 2, "user_id": "ana",
    "ops": [{"get": AT}, {"put": {**AT, "value": None}}, {"delete": AT}, {"search": {}}, {"namespaces": {}}],
}  # fmt: skip


def asked_of(name: str, **other: Any) -> Call[Any]:
    """Make the call of a method with a sample for each of its parameters."""
    build = methods_of(StoreClient)[name].build
    client = Client(URL, transport=Script(httpx.Response(200, json={})), retries=NO_RETRIES, tenant_id="acme")
    given = {one: SAMPLES[one] for one in [*inspect.signature(build).parameters][1:]}
    return call_of(build(client.store, **given | other))


def test_every_operation_has_a_method_whose_arguments_it_takes() -> None:
    assert taken(map(asked_of, methods_of(StoreClient)), STORE) == {*STORE.operations}


@pytest.mark.parametrize("name", methods_of(StoreClient))
def test_all_may_be_sent_again(name: str) -> None:
    assert asked_of(name).repeat == "safe"


@pytest.mark.parametrize(
    ("told", "read"),
    [
        (a.Item, store.Item), (a.FoundAll, store.FoundItems), (a.Namespaces, store.Namespaces),
        (a.Result, store.Result), (a.Results, store.Results),
    ],
)  # fmt: skip
def test_answers_are_read_with_all_that_is_told(told: Any, read: Any) -> None:
    assert {field.encode_name for field in msgspec.structs.fields(read)} == told.model_fields.keys()


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"value": None, "index": None, "ttl": None, "user_id": None}, {"value": None}),
        ({"value": 0, "is_indexed": False, "ttl": None, "user_id": None}, {"value": 0, "index": False}),
        ({"value": [], "index": ["b"]}, {"value": [], "index": ["b"], "ttl": 1.5, "user_id": "ana"}),
    ],
)
def test_a_value_is_sent_whatever_it_is(given: dict[str, Any], sent: dict[str, Any]) -> None:
    body = msgspec.json.decode(asked_of("put", **given).content or b"")
    assert body == {"tenant_id": "acme", **AT, **sent}
