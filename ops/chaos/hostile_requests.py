#!/usr/bin/env python3
"""Send a service legal-looking requests whose cost would be a product of two sizes, and see that none is paid for.

    python -m ops.chaos.hostile_requests --list
    python -m ops.chaos.hostile_requests http://127.0.0.1:8765 http://127.0.0.1:8766 [--only REGEX] [--most-s 10]

The service has all families on and asks nobody who they are; the second address is that of operators. Each request
works in a tenant of its own. Printed is for each its status and how long it took; exits with 1 when one had another
status than it should, or took longer than that.
"""

from __future__ import annotations

import argparse
import base64
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import quote
from uuid import UUID, uuid5

import httpx

NAMES: Final = UUID("3f0c6a2e-5b0e-4d0c-9a51-6f3f1d2c8b47")
JSON_HEADERS: Final = {"content-type": "application/json"}
TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class HostileRequest:
    """One request, and the status that it is to have. Those that prepare others come before them.

    `front` is where it is sent: to the address of users, or to that of operators.
    """

    name: str
    method: str
    path: str
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    status: int = 400
    front: Literal["public", "admin"] = "public"


def hostile_requests(tenant: str) -> Iterator[HostileRequest]:
    """Yield all requests, in the context of a tenant, in an order in which they prepare one another."""
    yield from store_requests(tenant)
    yield from checkpoint_requests(tenant)
    yield from conversation_requests(tenant)
    yield from knowledge_requests(tenant)


def store_requests(tenant: str) -> Iterator[HostileRequest]:
    """Yield paths x values, texts x operations, searches x rows and values x digits of the store."""
    owner = {"tenant_id": tenant, "user_id": "mallory"}

    def put(
        name: str, value: Any, index: Sequence[str] | None = None, *, status: int = 400
    ) -> HostileRequest:
        body = {**owner, "namespace": ["n"], "key": "k", "value": value, "index": index}
        return _post(f"store put: {name}", "/v1/store/put", body, status=status)

    def batch(name: str, ops: Sequence[Any], *, status: int = 400) -> HostileRequest:
        return _post(f"store batch: {name}", "/v1/store/batch", {**owner, "ops": ops}, status=status)

    yield put("one path 40,000 times", {"x": "y" * 200_000}, ["$"] * 40_000)
    yield put(
        "33 paths to all of a value", {"x": "y" * 200_000}, ["$", *(f"x{number}" for number in range(32))]
    )
    yield put("one path 32 times", {"x": "y" * 200_000}, ["$"] * 32, status=200)
    fields = [f"{{{','.join('a' * (127 - number))}}}" for number in range(32)]
    yield put("32 paths of 100 fields to one object", {"a": ["y"] * 20_000}, fields, status=200)
    missing = [f"[*].{number}" for number in range(32)]
    yield put("32 paths through 100,000 items to nothing", [{}] * 100_000, missing)
    alternatives = [f"[*].{{{','.join('a' * 100)}}}"]
    yield put("100 fields of each of 100,000 items", [{}] * 100_000, alternatives)
    yield put("400,000 values", [1] * 400_000)
    texts = {"t": [f"text {number}" for number in range(500)]}
    yield batch(
        "500 texts of each of 11 values",
        [
            {"put": {"namespace": ["n"], "key": str(number), "value": texts, "index": ["t[*]"]}}
            for number in range(11)
        ],
    )
    conditions = {f"f{number}": {"$ne": number} for number in range(32)}
    yield batch("500 searches by 32 fields", [{"search": {"limit": 1000, "filter": conditions}}] * 500)
    for number in range(1, 17):
        body = {
            **owner,
            "namespace": ["large"],
            "key": f"{number}",
            "value": {"x": [0] * 290_000},
            "index": False,
        }
        yield _post(f"store put: 290,000 numbers, {number} of 16", "/v1/store/put", body, status=200)
    large = [{"search": {"namespace": ["large"], "filter": conditions}}] * 32
    yield batch("32 searches by 32 fields of 16 values of 290,000 numbers", large, status=503)
    suffix = [{"match": "suffix", "path": ["*"] * 32}] * 8
    yield batch("500 listings of namespaces", [{"namespaces": {"limit": 1000, "matching": suffix}}] * 500)
    moment = "2026-01-01T00:00:00+00:00"
    line = {
        **owner, "namespace": ["n"], "key": "k", "value": {"x": "y" * 200_000}, "index": ["$"] * 40_000,
        "created_at": moment, "updated_at": moment,
    }  # fmt: skip
    body = {"tenant_id": tenant, "items": [{"family": "store", "item": line}]}
    yield _post("import of the store: one path 40,000 times", "/v1/admin/import", body, front="admin")
    odd = {**line, "value": {}, "index": ["$"], "created_at": "0001-01-01T00:00:00+14:00"}
    body = {"tenant_id": tenant, "items": [{"family": "store", "item": odd}]}
    yield _post("import of the store: a moment before the year 1", "/v1/admin/import", body, front="admin")


def checkpoint_requests(tenant: str) -> Iterator[HostileRequest]:
    """Yield channels x values and tasks x writes of a checkpoint, and facts x metadata of a list."""
    owner = {"tenant_id": tenant, "user_id": "mallory", "checkpoint_ns": ""}
    path = "/v1/assistant/checkpoints"
    small, large = (base64.b64encode(bytes(count)).decode() for count in (1, 11_500_000))
    typed = {"type": "json", "data": small}
    for number in range(3):
        body = {
            **owner, "thread_id": "channels", "checkpoint_id": f"{number}", "checkpoint": typed, "metadata": typed,
            "facts": {}, "versions": {f"c{older}": "1" for older in range(number + 1)},
            "values": [{"type": "json", "data": large, "channel": f"c{number}", "version": "1"}],
        }  # fmt: skip
        name = f"checkpoint: {number + 1} channels of 11 MB, one with each request"
        yield _post(name, path, body, status=204 if number < 2 else 400)
    for number in range(3):
        write = {"type": "json", "data": large, "channel": "c", "idx": 0}
        body = {
            **owner, "thread_id": "writes", "checkpoint_id": "0", "task_id": f"{number}", "writes": [write],
        }  # fmt: skip
        name = f"checkpoint: 11 MB written by each of {number + 1} tasks"
        yield _post(name, f"{path}/writes", body, status=204 if number < 2 else 400)
    asked = {
        "tenant_id": tenant,
        "user_id": "mallory",
        "facts": {f"k{number}": 1 for number in range(100_000)},
    }
    yield _post("checkpoints: a list by 100,000 facts", f"{path}/list", asked)


def conversation_requests(tenant: str) -> Iterator[HostileRequest]:
    """Yield entries x bytes of a page: a page has fewer of large ones, and says where it goes on."""
    id = uuid5(NAMES, tenant)
    headers = {"authorization": f"Bearer mallory-{id}", "x-client-id": "bot"}
    text = "word " * 1_400_000
    for number in range(3):
        body = {
            "channel": "history", "contentType": "history", "indexedContent": f"number {number} of three",
            "content": [{"role": "USER", "text": text}],
        }  # fmt: skip
        name = f"conversation: entry {number + 1} of 7 MB"
        yield _post(name, f"/v1/conversations/{id}/entries", body, headers=headers, status=201)
    path = f"/v1/conversations/{id}/entries?limit=200"
    yield HostileRequest("conversation: 200 entries of 7 MB", "GET", path, headers=headers, status=200)


def knowledge_requests(tenant: str) -> Iterator[HostileRequest]:
    """Yield names x entities: each name of each is compared with a name that is looked for."""
    aliases = [f"{number:03} {'ab' * 250}" for number in range(256)]
    body = {
        "tenant_id": tenant, "canonical_name": "Mallory", "entity_type": "person", "aliases": aliases,
    }  # fmt: skip
    yield _post("entity: 256 aliases of 504 characters", "/v1/knowledge/entities", body)


def _post(
    name: str,
    path: str,
    body: Any,
    *,
    status: int = 400,
    headers: Mapping[str, str] | None = None,
    front: Literal["public", "admin"] = "public",
) -> HostileRequest:
    content = json.dumps(body, separators=(",", ":")).encode()
    return HostileRequest(
        name, "POST", quote(path), content, JSON_HEADERS | dict(headers or {}), status, front
    )


def send(asked: HostileRequest, clients: Mapping[str, httpx.Client]) -> httpx.Response:
    """Send a request to the client of its front."""
    client = clients[asked.front]
    return client.request(asked.method, asked.path, content=asked.body, headers=dict(asked.headers))


def main() -> int:
    """Send, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("urls", nargs="*", help="the addresses of users and of operators")
    parser.add_argument("--list", action="store_true", help="print the names of the requests, and send none")
    parser.add_argument("--only", default="", help="a regular expression of the names of those to send")
    parser.add_argument("--tenant", default=f"hostile {time.time_ns()}")
    parser.add_argument("--most-s", type=float, default=10.0, help="how long one may take (default 10)")
    options = parser.parse_args()
    chosen = (one for one in hostile_requests(options.tenant) if re.search(options.only, one.name))
    if options.list:
        for one in chosen:
            print(one.name)
        return 0
    if len(options.urls) != 2:
        parser.error("give the addresses of users and of operators")
    wrong = 0
    public, admin = options.urls
    with (
        httpx.Client(base_url=public, timeout=TIMEOUT_S) as to_users,
        httpx.Client(base_url=admin, timeout=TIMEOUT_S) as to_operators,
    ):
        for one in chosen:
            began = time.monotonic()
            response = send(one, {"public": to_users, "admin": to_operators})
            took_s = time.monotonic() - began
            is_right = response.status_code == one.status and took_s <= options.most_s
            wrong += not is_right
            mark = "" if is_right else f"   WRONG: should be {one.status} within {options.most_s:g} s"
            size = f"{len(one.body):>9} B -> {len(response.content):>9} B"
            print(f"{response.status_code} {took_s:7.2f} s {size}  {one.name}{mark}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
