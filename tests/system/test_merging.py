"""Notes without a key, by the whole service and its packaged model: only what says the same becomes one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.system.fork_server import run_elf
from tests.system.service import RunningService, add_body, note, write_config


def texts(service: RunningService, tenant: str) -> list[str]:
    """All stored texts of a tenant, oldest first."""
    found: list[str] = []
    place = {"tenant_id": tenant, "project_id": "p", "limit": "200"}
    cursor: str | None = ""
    while cursor is not None:
        page = service.client.get(
            "/v1/memory/list", params=place | ({"cursor": cursor} if cursor else {})
        ).json()
        found += [item["text"] for item in page["items"]]
        cursor = page["next_cursor"]
    return found[::-1]


def read(service: RunningService, note_id: str) -> dict[str, Any]:
    note: dict[str, Any] = service.client.get(f"/v1/memory/notes/{note_id}").json()
    return note


def decisions(service: RunningService, tenant: str) -> list[dict[str, Any]]:
    """What was decided, oldest first."""
    answer = service.admin.get("/v1/admin/ingest_decisions", params={"tenant_id": tenant})
    items: list[dict[str, Any]] = answer.json()["items"]
    return items[::-1]


def command(service: RunningService, folder: Path, *arguments: str) -> str:
    """Run `elf` beside the service and return what it printed."""
    config = write_config(folder, http_bind=json.dumps(service.url.removeprefix("http://")))
    done = run_elf(*arguments, "-c", config)
    assert done.returncode == 0, done.stderr
    return done.stdout


DIFFERENT = [
    ("The API limit is 100.", "The API limit is 500."),
    ("The production server is in Oslo.", "The staging server is in Oslo."),
    ("The weekly sync meeting is on Monday at 10 am.", "The weekly sync meeting is on Tuesday at 10 am."),
    ("The response cache of the gateway is enabled.", "The response cache of the gateway is not enabled."),
    ("Ana reports to Ben.", "Ben reports to Ana."),
]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_what_merely_looks_alike_is_kept_beside_it_and_the_answer_says_so(
    service: RunningService, tenant: str, first: str, second: str
) -> None:
    (stored,) = service.add(tenant, note(first))
    (added,) = service.add(tenant, note(second))
    assert (added["op"], added.get("similar_to")) == ("ADD", stored["note_id"])
    assert texts(service, tenant) == [first, second]
    assert "similar_to" not in stored
    assert decisions(service, tenant)[1]["matched_note_id"] == stored["note_id"]


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_look_alikes_of_one_request_are_kept_as_well(
    service: RunningService, tenant: str, first: str, second: str
) -> None:
    stored, added = service.add(tenant, note(first), note(second))
    assert (stored["op"], added["op"], added.get("similar_to")) == ("ADD", "ADD", stored["note_id"])
    assert sorted(texts(service, tenant)) == sorted([first, second])


def test_the_same_fact_in_other_words_is_one_note_and_its_words_are_kept_in_the_history(
    service: RunningService, tenant: str, tmp_path: Path
) -> None:
    (stored,) = service.add(tenant, note("The weekly sync meeting is on Monday at 10 am in room Berlin."))
    again = "Fact: the weekly sync meeting is on Monday at 10:00 a.m. in room Berlin"
    (repeated,) = service.add(tenant, note(again))
    assert (repeated["op"], repeated["note_id"]) == ("NONE", stored["note_id"])
    assert "similar_to" not in repeated
    history = service.client.get(f"/v1/memory/notes/{stored['note_id']}/history").json()
    (kept,) = history["repetitions"]
    assert (kept["text"], kept["actor"]) == (again, "add_note")
    assert [decision["dropped_text"] for decision in decisions(service, tenant)] == [None, again]
    assert again in command(service, tmp_path, "history", stored["note_id"])


def test_a_history_without_repetitions_does_not_speak_of_them(service: RunningService, tenant: str) -> None:
    (stored,) = service.add(tenant, note("The sky is blue."))
    service.add(tenant, note("The sky is blue."))
    history = service.client.get(f"/v1/memory/notes/{stored['note_id']}/history").json()
    assert set(history) == {"items", "next_cursor", "dropped_before"}


def test_the_note_that_says_the_same_is_found_among_nearer_ones(service: RunningService, tenant: str) -> None:
    ports = [8081, 8082, 8083]
    stored = service.add(tenant, *(note(f"The metrics server listens on port {port}.") for port in ports))
    assert [result["op"] for result in stored] == ["ADD"] * 3
    for port, result in zip(ports, stored, strict=True):
        (again,) = service.add(tenant, note(f"Note that the metrics server listens on port {port}"))
        assert (again["op"], again["note_id"]) in {("NONE", result["note_id"]), ("UPDATE", result["note_id"])}
    assert len(texts(service, tenant)) == 3


def test_an_import_merges_nothing_that_is_not_the_very_same(
    service: RunningService, tenant: str, tmp_path: Path
) -> None:
    lines = [f"Sensor {number} of the plant reports every {number % 7 + 1} minutes." for number in range(300)]
    file = tmp_path / "notes.jsonl"
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "scope": "project_shared"}
    file.write_text("".join(json.dumps(place | {"text": line}) + "\n" for line in lines), encoding="utf-8")
    assert command(service, tmp_path, "import", str(file)) == "300 lines: 300 added, 0 rejected\n"
    assert sorted(texts(service, tenant)) == sorted(lines)
    assert command(service, tmp_path, "import", str(file)) == "300 lines: 300 known already, 0 rejected\n"
    file.write_text(json.dumps(place | {"text": f"Note that {lines[0]}"}), encoding="utf-8")
    assert command(service, tmp_path, "import", str(file)) == "1 line: 1 added, 0 rejected\n"


def test_add_note_keeps_what_says_the_same_when_it_is_asked_not_to_merge(
    service: RunningService, tenant: str
) -> None:
    (stored,) = service.add(tenant, note("The build takes 7 minutes."))
    body = add_body(tenant, note("The build takes seven minutes.")) | {"merge_similar": False}
    (added,) = service.post("add_note", body).json()["results"]
    assert (added["op"], added.get("similar_to")) == ("ADD", stored["note_id"])
    body = add_body(tenant, note("The build takes 7 minutes.")) | {"merge_similar": False}
    (again,) = service.post("add_note", body).json()["results"]
    assert (again["op"], again["note_id"]) == ("NONE", stored["note_id"])


def test_an_agent_is_told_by_its_tool_what_a_note_looks_like(service: RunningService, tenant: str) -> None:
    (stored,) = service.add(tenant, note("The API limit is 100."))
    call = {"name": "memory_add_note", "arguments": add_body(tenant, note("The API limit is 500."))}
    answer = httpx.post(
        service.mcp_url,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
        headers={"accept": "application/json, text/event-stream"},
        timeout=30.0,
    )
    (added,) = json.loads(answer.json()["result"]["content"][0]["text"])["results"]
    assert (added["op"], added.get("similar_to")) == ("ADD", stored["note_id"])


def test_add_event_keeps_what_merely_looks_alike_and_says_so_in_a_dry_run_too(
    service: RunningService, tenant: str
) -> None:
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "scope": "project_shared"}
    events = [
        place | {"messages": [{"role": "user", "content": f"We decided to use Postgres {version}."}]}
        for version in (17, 18)
    ]
    (stored,) = service.post("add_event", events[0]).json()["results"]
    (dry,) = service.post("add_event", events[1] | {"dry_run": True}).json()["results"]
    assert (dry["op"], dry["note_id"], dry["similar_to"]) == ("ADD", None, stored["note_id"])
    (added,) = service.post("add_event", events[1]).json()["results"]
    assert (added["op"], added.get("similar_to")) == ("ADD", stored["note_id"])
    (again,) = service.post("add_event", events[1]).json()["results"]
    assert (again["op"], again["note_id"]) == ("NONE", added["note_id"])


# Evidence


@pytest.mark.parametrize("key", ["limit", None])
def test_a_repetition_without_evidence_leaves_the_evidence(
    service: RunningService, tenant: str, key: str | None
) -> None:
    evidence = {"ticket": "OPS-7"}
    (stored,) = service.add(tenant, note("The API limit is 100.", key=key, source_ref=evidence))
    for words in ("The API limit is 100.", "Fact: the API limit is one hundred"):
        (again,) = service.add(tenant, note(words, key=key, importance=0.5))
        assert again["note_id"] == stored["note_id"]
        assert read(service, stored["note_id"])["source_ref"] == evidence
    (first, *_) = service.add(tenant, note(read(service, stored["note_id"])["text"], key=key, source_ref={}))
    assert first["op"] == "NONE"


def test_a_change_of_importance_without_evidence_leaves_the_evidence(
    service: RunningService, tenant: str
) -> None:
    service.add(tenant, note("The API limit is 100.", key="limit", source_ref={"ticket": "OPS-7"}))
    (changed,) = service.add(tenant, note("The API limit is 100.", key="limit", importance=0.9))
    assert changed["op"] == "UPDATE"
    assert read(service, changed["note_id"])["source_ref"] == {"ticket": "OPS-7"}


def test_another_fact_under_a_key_does_not_inherit_evidence_and_the_history_keeps_it(
    service: RunningService, tenant: str
) -> None:
    service.add(tenant, note("The API limit is 100.", key="limit", source_ref={"ticket": "OPS-7"}))
    (changed,) = service.add(tenant, note("The API limit is 500.", key="limit"))
    assert (changed["op"], read(service, changed["note_id"])["source_ref"]) == ("UPDATE", {})
    history = service.client.get(f"/v1/memory/notes/{changed['note_id']}/history").json()["items"]
    assert history[0]["prev_snapshot"]["source_ref"] == {"ticket": "OPS-7"}


@pytest.mark.parametrize("key", ["limit", None])
@pytest.mark.parametrize(
    "value", ["1e23", "-0.0", "1.0", "5e-324", "1.7976931348623157e308", "12345678901234567890123", "[1e30]"]
)
def test_the_same_payload_twice_says_none_whatever_numbers_are_in_it(
    service: RunningService, tenant: str, value: str, key: str | None
) -> None:
    body = json.dumps(add_body(tenant, note("The API limit is 100.", key=key, source_ref={"n": "?"})))
    sent = body.replace('"?"', value)
    ops = [service.client.post("/v1/memory/add_note", content=sent).json()["results"][0]["op"] for _ in "12"]
    assert ops == ["ADD", "NONE"]


def test_true_is_not_the_number_one_in_a_source_ref(service: RunningService, tenant: str) -> None:
    service.add(tenant, note("The API limit is 100.", key="limit", source_ref={"n": 1}))
    (changed,) = service.add(tenant, note("The API limit is 100.", key="limit", source_ref={"n": True}))
    assert (changed["op"], read(service, changed["note_id"])["source_ref"]) == ("UPDATE", {"n": True})
