"""The audit log: each call of the admin server has a row, whoever called and whatever came of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from elf.core.api_key import new_key
from tests.folders import fresh_folder
from tests.keys_kit import with_keys
from tests.system.fork_server import run_elf
from tests.system.service import RunningService, wait_for, write_config
from tests.system.truth import rows

OPERATOR, AUDITOR, OF_ACME, LESS, USER = (new_key() for _ in range(5))
KEYS: list[dict[str, Any]] = [
    {"name": "operator", "key": OPERATOR, "role": "admin", "user": "boss"},
    {"name": "inspector", "key": AUDITOR, "role": "auditor", "user": "eve"},
    {"name": "acme-operator", "key": OF_ACME, "role": "admin", "tenant_id": "acme", "acts_for_users": True},
    {"name": "narrow", "key": LESS, "role": "auditor", "tenant_id": "acme", "agent_id": "bot"},
    {"name": "bot", "key": USER, "tenant_id": "acme", "acts_for_users": True},
]
SENT = {"operator": OPERATOR, "inspector": AUDITOR, "wrong": new_key()}
AUDIT = "/v1/admin/audit"
CONVERSATIONS = "/v1/admin/conversations"
AUDITORS = {
    "count_jobs", "count_forgettable", "overview", "index_drift", "compare_index", "ingest_decisions", "list_audit",
}  # fmt: skip
ADMINS = {
    "collect_garbage", "rebuild_qdrant", "rebuild_progress", "index_repair", "forget_notes", "decay_sweep",
    "consolidate_all", "clean_up_all", "requeue_episodes", "reembed_knowledge", "erase_knowledge",
    "knowledge_schedules", "dead_letters", "graph_orchestrators", "graph_erase", "graph_recover", "graph_export",
    "graph_import", "graph_share", "share_knowledge",
    "consolidate_assistant", "redact_checkpoints", "export_assistant_memory", "import_assistant_memory",
    "erase_assistant_memory", "list_webhooks", "webhook_dead_letters", "retry_webhook", "erase_memory",
    "read_receipt", "prove_erasure", "export_memory", "import_memory", "rebuild_index", "index_progress",
    "repair_index", "list_jobs", "retry_jobs", "discard_jobs",
}  # fmt: skip
IDS = {"corpus": "notes", "name": "hook", "receipt_id": "0191a7c3-5c4e-7cc1-8f00-0123456789ab"}


@pytest.fixture(scope="module")
def guarded(model_folder: Path) -> Iterator[RunningService]:
    """A service that asks who calls."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(with_keys(config.read_text(), *KEYS))
        with RunningService(config) as service:
            yield service


def call(
    service: RunningService,
    method: str,
    path: str,
    key: str | None = OPERATOR,
    /,
    user: str | None = None,
    **more: Any,
) -> tuple[str, int]:
    """Call the admin server, or the public one for conversations; returns the id of the request and the status."""
    id = str(uuid4())
    sent = {"X-Request-Id": id, "X-API-Key": key, "X-User-ID": user}
    headers = {name: value for name, value in sent.items() if value is not None}
    client = service.client if path.startswith(CONVERSATIONS) else service.admin
    return id, client.request(method, path, headers=headers, **more).status_code


def page(service: RunningService, key: str = OPERATOR, **query: Any) -> dict[str, Any]:
    answer = service.admin.get(AUDIT, params=query, headers={"X-API-Key": key})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def row_of(service: RunningService, id: str) -> dict[str, Any]:
    """The one row of a request."""
    (row,) = [one for one in page(service, limit=200)["items"] if one["request_id"] == id]
    return dict(row)


def operations(service: RunningService) -> dict[str, tuple[str, str]]:
    """The method and the path of each operation of the admin server, by name, as its document tells them."""
    paths = service.admin.get("/openapi.json").json()["paths"]
    return {
        entry["operationId"]: (method.upper(), path.format(**IDS))
        for path, entries in paths.items()
        for method, entry in entries.items()
        if path.startswith("/v1/admin/")
    }


# Roles


def test_each_operation_of_the_admin_server_is_for_auditors_or_for_admins(guarded: RunningService) -> None:
    known = operations(guarded)
    assert known.keys() == AUDITORS | ADMINS  # decide on a new one: admins, unless the design says auditors
    for name, (method, path) in known.items():
        body = {"json": {}} if method == "POST" else {}
        _, status = call(guarded, method, path, AUDITOR, **body)
        assert (status == 403) == (name in ADMINS), (name, status)
        assert call(guarded, method, path, USER, **body)[1] == 403, name
        assert call(guarded, method, path, None, **body)[1] == 401, name
    for path in ("/metrics", "/ready"):
        assert guarded.admin.get(path, headers={"X-API-Key": AUDITOR}).status_code == 200


def test_auditors_read_conversations_as_before(guarded: RunningService) -> None:
    assert call(guarded, "GET", CONVERSATIONS, AUDITOR)[1] == 200
    assert (
        call(guarded, "POST", f"{CONVERSATIONS}/erase", AUDITOR, json={"what": "user", "name": "x"})[1] == 403
    )


# Rows


def test_a_call_is_listed_with_its_caller_its_subject_and_its_outcome(guarded: RunningService) -> None:
    id, _ = call(guarded, "GET", "/v1/admin/export", params={"tenant_id": "acme", "user_id": "ana"})
    row = row_of(guarded, id)
    assert (row["user"], row["client"], row["role"]) == ("boss", "operator", "admin")
    assert (row["operation"], row["tenant_id"], row["subject"]) == (
        "export_memory",
        "acme",
        {"user_id": "ana"},
    )
    assert (row["outcome"], row["status"], row["items"]) == ("done", 200, 0)
    assert row["called_at"] <= row["ended_at"]


@pytest.mark.parametrize(
    ("family", "of"), [("graph", {"orchestrator_id": "planner"}), ("knowledge", {"memory_type": "fact"})]
)
def test_a_call_that_shares_a_memory_is_listed_with_its_id(
    guarded: RunningService, family: str, of: dict[str, str]
) -> None:
    named = {**of, "memory_id": str(uuid4())}
    body = {"tenant_id": "acme", **named, "shared": True}
    id, status = call(guarded, "POST", f"/v1/admin/{family}/share", json=body)
    row = row_of(guarded, id)
    assert (status, row["tenant_id"], row["subject"], row["outcome"]) == (404, "acme", named, "NOT_FOUND")


@pytest.mark.parametrize(
    ("method", "path", "key", "status", "told"),
    [
        ("POST", "/v1/admin/gc", "operator", 200, ("collect_garbage", "boss", "admin", {}, "done")),
        ("POST", "/v1/admin/gc", "inspector", 403, ("collect_garbage", "eve", "auditor", {}, "FORBIDDEN")),
        ("POST", "/v1/admin/gc", None, 401, ("collect_garbage", None, None, {}, "UNAUTHORIZED")),
        ("POST", "/v1/admin/gc", "wrong", 401, ("collect_garbage", None, None, {}, "UNAUTHORIZED")),
        ("POST", "/v1/admin/gc?a=1", "operator", 200, ("collect_garbage", "boss", "admin", {}, "done")),
        ("GET", "/v1/admin/export?user_id=ana", "operator", 400,
         ("export_memory", "boss", "admin", {"user_id": "ana"}, "INVALID_REQUEST")),
        ("GET", "/v1/admin/index/attic/drift", "inspector", 404,
         ("compare_index", "eve", "auditor", {"corpus": "attic"}, "NOT_FOUND")),
        ("GET", f"{CONVERSATIONS}?userId=ana", "inspector", 200,
         ("admin_list_conversations", "eve", "auditor", {"user_id": "ana"}, "done")),
        ("GET", f"{CONVERSATIONS}/{uuid4()}", None, 401,
         ("admin_get_conversation", None, None, None, "UNAUTHORIZED")),
    ],
)  # fmt: skip
def test_each_call_has_one_row_also_when_it_is_refused(
    guarded: RunningService, method: str, path: str, key: str | None, status: int, told: tuple[Any, ...]
) -> None:
    id, answered = call(guarded, method, path, None if key is None else SENT[key])
    row = row_of(guarded, id)
    operation, user, role, subject, outcome = told
    assert (answered, row["status"]) == (status, status)
    assert (row["operation"], row["user"], row["role"], row["outcome"]) == (operation, user, role, outcome)
    assert subject is None or row["subject"] == subject


def test_probes_and_figures_have_no_row(guarded: RunningService) -> None:
    before = page(guarded, limit=1)["items"][0]["call_id"]
    for path in ("/metrics", "/ready", "/health"):
        assert call(guarded, "GET", path)[1] == 200
    assert page(guarded, limit=2)["items"][1]["call_id"] == before


def test_calls_are_filtered_and_paged_newest_first(guarded: RunningService) -> None:
    tenant = f"tenant {uuid4()}"
    began = datetime.now(UTC)
    made = [
        call(
            guarded, "GET", "/v1/admin/export", OPERATOR, params={"tenant_id": tenant, "user_id": f"user {n}"}
        )[0]
        for n in range(5)
    ]
    made.append(call(guarded, "GET", "/v1/admin/jobs/counts", AUDITOR, params={"tenant_id": tenant})[0])
    walked: list[str] = []
    query: dict[str, Any] = {"tenant_id": tenant, "limit": 2, "until": datetime.now(UTC).isoformat()}
    while True:
        found = page(guarded, **query)
        walked += [one["request_id"] for one in found["items"]]
        if found["next_cursor"] is None:
            break
        query["cursor"] = found["next_cursor"]
    assert walked == made[::-1]

    def ids(**filters: Any) -> set[str]:
        return {one["request_id"] for one in page(guarded, limit=200, tenant_id=tenant, **filters)["items"]}

    assert (
        ids(caller="eve")
        == ids(caller="inspector")
        == {made[5]} | (ids(operation="list_audit") & ids(caller="eve"))
    )
    assert ids(subject="user 3") >= {made[3]}
    assert made[2] not in ids(subject="user 3")
    assert ids(operation="export_memory") == set(made[:5])
    assert ids(since=(began + timedelta(hours=1)).isoformat()) == set()
    assert set(made).isdisjoint(ids(until=began.isoformat()))
    for refused in ({"limit": 0}, {"cursor": "x"}, {"since": "yesterday"}, {"operation": "No"}, {"who": "x"}):
        answer = guarded.admin.get(AUDIT, params=refused, headers={"X-API-Key": OPERATOR})
        assert (answer.status_code, answer.json()["fields"]) == (400, [f"$.{next(iter(refused))}"])
    stale = guarded.admin.get(AUDIT, params={**query, "subject": "another"}, headers={"X-API-Key": OPERATOR})
    assert stale.json()["fields"] == ["$.cursor"]


def test_who_is_bound_to_a_tenant_sees_its_calls_alone(guarded: RunningService) -> None:
    own, _ = call(guarded, "GET", "/v1/admin/ingest_decisions", OF_ACME)
    other, _ = call(guarded, "GET", "/v1/admin/ingest_decisions", params={"tenant_id": "zenith"})
    nobodys, _ = call(guarded, "POST", "/v1/admin/gc", json={"wrong": 1})
    seen = {one["request_id"] for one in page(guarded, OF_ACME, limit=200)["items"]}
    assert own in seen
    assert seen.isdisjoint({other, nobodys})
    for key, query in ((OF_ACME, {"tenant_id": "zenith"}), (LESS, {})):
        answer = guarded.admin.get(AUDIT, params=query, headers={"X-API-Key": key})
        assert (answer.status_code, answer.json()["error_code"]) == (403, "SCOPE_DENIED")


def test_no_row_has_a_text_a_query_or_a_key(guarded: RunningService) -> None:
    word = f"word{uuid4().hex}"
    key = {"X-API-Key": OF_ACME, "X-User-ID": "ana"}
    lines = [{"family": "store", "item": {"value": word}}]
    guarded.admin.post("/v1/admin/import", json={"items": lines}, headers={"X-API-Key": OF_ACME})
    guarded.client.post(f"{CONVERSATIONS}/search", json={"query": word}, headers=key)
    guarded.client.get(CONVERSATIONS, params={"justification": word}, headers=key)
    proof = {"receipt": {}, "texts": [word], "user_id": "ana"}
    guarded.admin.post("/v1/admin/erase/prove", json=proof, headers={"X-API-Key": OF_ACME})
    guarded.admin.get(AUDIT, headers={"X-API-Key": new_key() + word})
    stored = json.dumps(
        [one["line"] for one in rows(guarded.config.parent, "SELECT a::text AS line FROM audit_log a")]
    )
    for text in (word, OPERATOR, AUDITOR, OF_ACME, USER):
        assert text not in stored


# Erasing


def erased_names(service: RunningService, name: str) -> list[str]:
    """The rows that have a name."""
    query = "SELECT a::text AS line FROM audit_log a WHERE a::text LIKE '%' || $1 || '%'"
    return [one["line"] for one in rows(service.config.parent, query, name)]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/admin/erase", {"user_id": "{name}"}),
        ("/v1/admin/assistant/erase", {"what": "user", "name": "{name}"}),
        (f"{CONVERSATIONS}/erase", {"what": "user", "name": "{name}"}),
    ],
)
def test_an_erased_user_is_in_no_row_neither_as_a_caller_nor_as_a_subject(
    guarded: RunningService, path: str, body: dict[str, str]
) -> None:
    name, other = f"ana-{uuid4().hex}", f"bob-{uuid4().hex}"
    for user in (name, other):
        query = {"user_id": user}
        call(guarded, "GET", "/v1/admin/export", OF_ACME, user=user, params=query)
        call(guarded, "GET", f"{CONVERSATIONS}", OF_ACME, user=user, params={"userId": user})
        call(guarded, "GET", "/v1/admin/export", OF_ACME, params={**query, "tenant_id": "other"})  # refused
        call(guarded, "GET", "/v1/admin/export", params={**query, "tenant_id": "zenith"})
    assert len(erased_names(guarded, name)) == len(erased_names(guarded, other)) == 4
    given = {field: value.format(name=name) for field, value in body.items()}
    id, status = call(guarded, "POST", path, OF_ACME, user=name, json=given)
    assert status == 200
    # The other tenant's user of that name was not erased.
    assert ["zenith" in line for line in erased_names(guarded, name)] == [True]
    assert len(erased_names(guarded, other)) == 4
    row = row_of(guarded, id)
    (hashed,) = set(row["subject"].values()) - {"user"}
    assert (row["user"], row["outcome"], hashed[:12]) == (hashed, "done", "hmac-sha256:")
    # Calls about whom was erased say nothing else from then on, and are found by the name.
    again, _ = call(guarded, "GET", "/v1/admin/export", OF_ACME, params={"user_id": name})
    assert row_of(guarded, again)["subject"] == {"user_id": hashed}
    found = {one["request_id"] for one in page(guarded, OF_ACME, subject=name, limit=200)["items"]}
    assert {id, again} <= found
    assert call(guarded, "POST", path, OF_ACME, user="boss", json=given)[1] == 200
    assert ["zenith" in line for line in erased_names(guarded, name)] == [True]


def test_the_hash_of_an_erased_user_is_that_of_the_receipt(guarded: RunningService) -> None:
    headers = {"X-API-Key": OF_ACME}
    receipt = guarded.admin.post("/v1/admin/erase", json={"user_id": "hera"}, headers=headers).json()
    row = page(guarded, OF_ACME, operation="erase_memory", limit=1)["items"][0]
    assert row["subject"] == {"user_id": receipt["subject"]}
    assert row["items"] == sum(sum(counts.values()) for counts in receipt["erased"].values())


def test_an_erased_tenant_is_in_no_row(guarded: RunningService) -> None:
    tenant, user = f"tenant-{uuid4().hex}", f"ana-{uuid4().hex}"
    query = {"tenant_id": tenant, "user_id": user}
    for _ in range(2):
        call(guarded, "GET", "/v1/admin/export", params=query)
        assert (
            call(guarded, "POST", "/v1/admin/erase", json={"tenant_id": tenant, "everything": True})[1] == 200
        )
        assert erased_names(guarded, tenant) == erased_names(guarded, user) == []
    call(guarded, "GET", "/v1/admin/export", params=query)
    assert erased_names(guarded, tenant) == erased_names(guarded, user) == []
    assert len(page(guarded, tenant_id=tenant, operation="export_memory")["items"]) == 3


# Age, and the command line


def test_old_rows_are_removed(guarded: RunningService) -> None:
    old, _ = call(guarded, "GET", "/v1/admin/overview")
    kept, _ = call(guarded, "GET", "/v1/admin/overview")
    for id, days in ((old, 366), (kept, 364)):
        aged = "UPDATE audit_log SET called_at = called_at - make_interval(days => $2)"
        aged += " WHERE request_id = $1::uuid RETURNING 1"
        assert rows(guarded.config.parent, aged, id, days)

    def collected() -> bool:
        return bool(guarded.admin.post("/v1/admin/gc", headers={"X-API-Key": OPERATOR}).json()["ran"])

    wait_for(collected, "nobody else collects")
    query = "SELECT request_id::text AS id FROM audit_log WHERE request_id = ANY($1::uuid[])"
    assert [one["id"] for one in rows(guarded.config.parent, query, [old, kept])] == [kept]


def test_the_command_line_lists_calls(guarded: RunningService) -> None:
    tenant = f"tenant-{uuid4().hex}"
    call(guarded, "GET", "/v1/admin/export", params={"tenant_id": tenant, "user_id": "ana"})
    key = guarded.config.parent / "operator.key"
    key.write_text(OPERATOR)
    key.chmod(0o600)
    config = guarded.config.parent / "reachable.toml"
    admin = guarded.admin_url.removeprefix("http://")
    config.write_text(
        guarded.config.read_text().replace('admin_bind = "127.0.0.1:0"', f'admin_bind = "{admin}"')
    )
    options = ["-c", config, "--key-file", key, "--tenant", tenant, "--operation", "export_memory"]
    done = run_elf("admin", "audit", *options)
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert line.split()[1:] == [
        "export_memory",
        "boss",
        "operator",
        "admin",
        tenant,
        "user_id=ana",
        "0",
        "done",
    ]
    listed = json.loads(run_elf("admin", "audit", *options, "--json").stdout)
    assert listed["items"][0]["subject"] == {"user_id": "ana"}
