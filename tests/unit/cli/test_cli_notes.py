"""`elf add`, `search`, `get` and `list`: what is asked, what is printed, how they end."""

from __future__ import annotations

import json
import socket
from typing import Any

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

NOTE_ID = "01890a5d-ac96-774b-bcce-b302099a8057"

NOTE = {
    "note_id": NOTE_ID,
    "type": "fact",
    "scope": "agent_private",
    "key": None,
    "text": "Tea is\x1b[31m green.\nAlways.",
}

HANDLE = "4f1d5d6a-7a53-4c3f-9f0c-2f64c1a7a1de"
HIT = {
    **NOTE, "snippet": NOTE["text"], "final_score": 0.98765, "relevance": 0.6123, "key": "drink",
    "result_handle": HANDLE,
}  # fmt: skip

COMMANDS = [
    ("add", "Tea is green."),
    ("search", "tea"),
    ("get", NOTE_ID),
    ("list",),
    ("status",),
]


def answers(service: FakeService, body: Any, *, status: int = 200) -> None:
    service.respond = lambda asked: Answer(status, body)


def results(*ops: str) -> dict[str, Any]:
    return {"results": [{"note_id": NOTE_ID, "op": op, "reason_code": None, "reason": None} for op in ops]}


def test_a_note_needs_nothing_but_its_text(elf: CommandLine, service: FakeService) -> None:
    answers(service, results("ADD"))
    assert elf("add", "Tea is green.") == (0, f"ADD  {NOTE_ID}\n", "")
    note = {
        "type": "fact",
        "key": None,
        "text": "Tea is green.",
        "importance": 0.5,
        "confidence": 0.8,
        "ttl_days": None,
        "source_ref": {},
    }
    body = {
        "tenant_id": "default",
        "project_id": "default",
        "agent_id": "default",
        "scope": "agent_private",
        "notes": [note],
    }
    assert service.asked == [Asked("POST", "/v1/memory/add_note", {}, body)]


def test_every_field_of_a_note_has_a_flag(elf: CommandLine, service: FakeService) -> None:
    answers(service, results("UPDATE"))
    flags = ["--tenant", "t", "--project", "p", "--agent", "a", "--scope", "org_shared", "--type", "plan"]
    flags += ["--key", "k", "--importance", "1", "--confidence", "0", "--ttl-days", "-1"]
    assert elf("add", *flags, "--source-ref", '{"url": "x"}', "Tea is green.").code == 0
    (asked,) = service.asked
    (note,) = asked.body.pop("notes")
    assert asked.body == {"tenant_id": "t", "project_id": "p", "agent_id": "a", "scope": "org_shared"}
    assert note == {
        "type": "plan",
        "key": "k",
        "text": "Tea is green.",
        "importance": 1,
        "confidence": 0,
        "ttl_days": -1,
        "source_ref": {"url": "x"},
    }


def test_a_rejected_note_ends_with_1_and_says_why(elf: CommandLine, service: FakeService) -> None:
    result = {"note_id": None, "op": "REJECTED", "reason_code": "REJECT_TOO_LONG", "reason": "240 at most"}
    answers(service, {"results": [result]})
    assert elf("add", "x") == (1, "REJECTED  -  REJECT_TOO_LONG  240 at most\n", "")
    outcome = elf("add", "--json", "x")
    assert (outcome.code, outcome.data) == (1, {"results": [result]})


def test_a_note_that_looks_like_another_says_which(elf: CommandLine, service: FakeService) -> None:
    body = results("ADD")
    body["results"][0]["similar_to"] = HANDLE
    answers(service, body)
    assert elf("add", "Tea is green.") == (0, f"ADD  {NOTE_ID}  similar to {HANDLE}\n", "")


@pytest.mark.parametrize(
    "flags",
    [
        ["--importance", "nan"],
        ["--importance", "much"],
        ["--source-ref", "[1]"],
        ["--source-ref", "{"],
        ["--unknown", "x"],
    ],
)
def test_a_wrong_flag_ends_with_2_and_sends_nothing(
    elf: CommandLine, service: FakeService, flags: list[str]
) -> None:
    outcome = elf("add", *flags, "x")
    assert outcome.code == 2
    assert flags[0] in outcome.err
    assert service.asked == []


def test_a_search_shows_rank_score_text_key_and_id(elf: CommandLine, service: FakeService) -> None:
    items = [HIT, {**HIT, "key": None, "relevance": None}]
    answers(service, {"trace_id": NOTE_ID, "items": items, "weak_match": False, "degraded": []})
    code, out, err = elf("search", "which tea?")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0] == "  1  0.9877  Tea is [31m green. Always."
    about = ["fact", "agent_private", NOTE_ID, "handle", HANDLE, "relevance"]
    assert lines[1].split() == ["drink", *about, "0.6123"]
    assert lines[3].split() == ["-", *about, "-"]


def test_a_search_reads_every_scope_and_leaves_the_size_to_the_service(
    elf: CommandLine, service: FakeService
) -> None:
    answers(service, {"items": [], "weak_match": True, "degraded": []})
    assert elf("search", "which tea?").err == "elf: nothing found\n"
    assert elf("search", "which tea?", "--profile", "private_only", "--top-k", "3").code == 0
    assert elf("search", "which tea?", "--min-relevance", "0.45").code == 0
    context = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}
    assert [asked.body for asked in service.asked] == [
        {**context, "read_profile": "all_scopes", "query": "which tea?"},
        {**context, "read_profile": "private_only", "query": "which tea?", "top_k": 3},
        {**context, "read_profile": "all_scopes", "query": "which tea?", "min_relevance": 0.45},
    ]


def test_a_search_sends_the_filters_of_its_flags(elf: CommandLine, service: FakeService) -> None:
    answers(service, {"items": [], "degraded": []})
    flags = (
        "--type", "fact", "--type", "plan", "--key-prefix", "deploy/", "--scope", "project_shared",
        "--since", "2026-01-31", "--until", "2026-02-01T00:00:00Z",
        "--source", "ticket=SUP-1=2", "--source", "build:=7", "--source", "app.ok:=null",
    )  # fmt: skip
    assert elf("search", "which tea?", *flags).code == 0
    assert service.asked[0].body["filters"] == {
        "type": ["fact", "plan"], "key_prefix": "deploy/", "scope": ["project_shared"],
        "updated_since": "2026-01-31", "updated_before": "2026-02-01T00:00:00Z",
        "source": {"ticket": "SUP-1=2", "build": 7, "app.ok": None},
    }  # fmt: skip


@pytest.mark.parametrize(
    "flags",
    [("--type", "idea"), ("--source", "ticket"), ("--source", "build:=NaN"), ("--min-relevance", "nan")],
)
def test_a_filter_that_is_none_ends_with_2_and_sends_nothing(
    elf: CommandLine, service: FakeService, flags: tuple[str, str]
) -> None:
    outcome = elf("search", "tea", *flags)
    assert outcome.code == 2
    assert flags[0] in outcome.err
    assert service.asked == []


def test_a_search_says_what_it_was_answered_without(elf: CommandLine, service: FakeService) -> None:
    answers(service, {"items": [HIT], "weak_match": None, "degraded": ["rerank"]})
    assert elf("search", "tea").err == "elf: answered without rerank\n"


def test_a_search_says_that_nothing_is_close_to_the_query_and_shows_what_there_is(
    elf: CommandLine, service: FakeService
) -> None:
    body = {"trace_id": NOTE_ID, "items": [HIT], "weak_match": True, "degraded": []}
    answers(service, body)
    code, out, err = elf("search", "tea")
    assert (code, err) == (0, "elf: weak match: perhaps nothing here answers the query\n")
    assert "Tea is" in out
    assert elf("search", "tea", "--json") == (0, json.dumps(body, indent=2) + "\n", "")


def test_get_asks_within_its_own_context_and_then_for_the_id_alone(
    elf: CommandLine, service: FakeService
) -> None:
    service.respond = lambda asked: error(404, "NOT_FOUND") if asked.params else Answer(body=NOTE)
    code, out, _ = elf("get", NOTE_ID)
    assert code == 0
    assert out.splitlines() == [
        f"note_id  {NOTE_ID}",
        "type     fact",
        "scope    agent_private",
        "key      -",
        "text     Tea is [31m green. Always.",
    ]
    own = {"tenant_id": "default", "project_id": "default", "agent_id": "default"}
    assert [asked.params for asked in service.asked] == [own, {}]


def test_get_within_a_context_that_was_named_asks_there_alone(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: error(404, "NOT_FOUND")
    assert elf("get", NOTE_ID, "--agent", "a").code == 1
    (asked,) = service.asked
    assert asked.path == f"/v1/memory/notes/{NOTE_ID}"
    assert asked.params == {"tenant_id": "default", "project_id": "default", "agent_id": "a"}


@pytest.mark.parametrize("command", ["get", "history", "restore", "traces"])
def test_what_is_no_id_is_a_wrong_usage_and_nothing_is_sent(
    elf: CommandLine, service: FakeService, command: str
) -> None:
    code, out, err = elf(command, f"{NOTE_ID}/history")
    assert (code, out) == (2, "")
    assert "should be a valid UUID" in err
    assert service.asked == []


def test_list_shows_one_note_a_line_and_how_to_go_on(elf: CommandLine, service: FakeService) -> None:
    answers(service, {"items": [NOTE, {**NOTE, "type": "constraint"}], "next_cursor": "abc"})
    outcome = elf("list", "--scope", "agent_private", "--type", "fact", "--status", "deleted", "--limit", "2")
    assert outcome.out.splitlines() == [
        f"{NOTE_ID}  fact        agent_private  -  Tea is [31m green. Always.",
        f"{NOTE_ID}  constraint  agent_private  -  Tea is [31m green. Always.",
    ]
    assert "--cursor abc" in outcome.err
    assert service.asked[0].params == {
        "tenant_id": "default",
        "project_id": "default",
        "agent_id": "default",
        "scope": "agent_private",
        "type": "fact",
        "status": "deleted",
        "limit": "2",
    }


def test_list_shows_by_default_all_that_a_search_reads(elf: CommandLine, service: FakeService) -> None:
    answers(service, {"items": [], "next_cursor": None})
    for flags in ((), ("--scope", "project_shared"), ("--shared",)):
        elf("list", *flags)
    said = [(asked.params.get("scope"), asked.params.get("read_profile")) for asked in service.asked]
    assert said == [(None, "all_scopes"), ("project_shared", None), (None, None)]
    assert elf("list", "--shared", "--scope", "project_shared").code == 2


def test_an_empty_list_says_so(elf: CommandLine, service: FakeService) -> None:
    answers(service, {"items": [], "next_cursor": None})
    assert elf("list") == (0, "", "elf: nothing found\n")


@pytest.mark.parametrize("command", COMMANDS[:4], ids=lambda command: command[0])
def test_json_prints_the_answer_as_it_is(
    elf: CommandLine, service: FakeService, command: tuple[str, ...]
) -> None:
    answers(service, {"anything": ["at", "all"]})
    outcome = elf(*command, "--json")
    assert (outcome.code, outcome.data) == (0, {"anything": ["at", "all"]})


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("status", "code"), [(400, 1), (403, 1), (404, 1), (413, 1), (422, 1), (500, 1), (503, 3)]
)
def test_an_error_of_the_service_is_one_line_and_an_exit_code(
    elf: CommandLine, service: FakeService, command: tuple[str, ...], status: int, code: int
) -> None:
    service.respond = lambda asked: error(status, "SOME_CODE", fields=["$.query"])
    outcome = elf(*command)
    if command == ("status",):
        assert (outcome.code, outcome.out) == (1, "")  # /ready has parts with a 503; this is something else
        return
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err == "elf: SOME_CODE: the message ($.query)\n"
    outcome = elf(*command, "--json")
    assert (outcome.code, outcome.data["error_code"]) == (code, "SOME_CODE")


def test_a_field_that_the_message_names_is_not_named_twice(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda asked: error(
        400, "INVALID_REQUEST", fields=["$.query"], message="$.query: is empty"
    )
    assert elf("search", "").err == "elf: INVALID_REQUEST: $.query: is empty\n"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("body", ["<html>", "[]", ""])
def test_something_else_at_the_address_is_not_the_service(
    elf: CommandLine, service: FakeService, command: tuple[str, ...], body: str
) -> None:
    answers(service, body)
    outcome = elf(*command)
    assert outcome.code == 3
    assert outcome.err == f"elf: what answers at http://127.0.0.1:{service.port} is not ELF (HTTP 200)\n"


@pytest.mark.parametrize(
    "command", [*COMMANDS, ("import", __file__, "--patience", "0")], ids=lambda command: command[0]
)
def test_a_service_that_is_not_there_ends_with_3(elf: CommandLine, command: tuple[str, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    text = elf.config.read_text().splitlines()
    bind = next(line for line in text if line.startswith("http_bind"))
    elf.config.write_text(elf.config.read_text().replace(bind, f'http_bind = "127.0.0.1:{port}"'))
    outcome = elf(*command)
    assert outcome.code == 3
    assert f"elf: the service at http://127.0.0.1:{port} does not answer: " in outcome.err


def test_no_proxy_of_the_environment_is_used(
    elf: CommandLine, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "")
    answers(service, results("NONE"))
    assert elf("add", "x").code == 0
