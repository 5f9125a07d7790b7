"""The command line against the running service: what is exported comes back, what is forgotten is gone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from elf.cli import main
from tests.system.fork_server import run_elf
from tests.system.service import RunningService, note, wait_for, write_config
from tests.system.truth import rows

PROJECT = "p"
SCOPES = ("agent_private", "project_shared", "org_shared")
TYPES = ("fact", "plan", "preference", "constraint", "decision", "profile")


class Outcome(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


Elf = Callable[..., Outcome]


@pytest.fixture
def config(service: RunningService, tmp_path: Path) -> Path:
    """A config that leads to the running service, whose own names no ports."""
    binds = {
        f"{name}_bind": json.dumps(url.removeprefix("http://").removesuffix("/mcp"))
        for name, url in (("http", service.url), ("admin", service.admin_url), ("mcp", service.mcp_url))
    }
    return write_config(tmp_path, **binds)


@pytest.fixture
def elf(config: Path, capsys: pytest.CaptureFixture[str], tenant: str) -> Elf:
    """Run a command in the test's tenant, as agent a of project p unless it says otherwise."""

    def run(command: str, *arguments: str, agent: str = "a", project: str | None = PROJECT) -> Outcome:
        place = ["--tenant", tenant, "--agent", agent, *(["--project", project] if project else [])]
        code = main([command, "-c", str(config), *place, *arguments])
        return Outcome(code, *capsys.readouterr())

    return run


def listed(service: RunningService, tenant: str, agent: str, scope: str, **more: str) -> list[dict[str, Any]]:
    """All active notes of one scope that an agent reads."""
    place = {"tenant_id": tenant, "project_id": PROJECT, "agent_id": agent, "scope": scope, "limit": "200"}
    response = service.client.get("/v1/memory/list", params=place | more)
    assert response.status_code == 200, response.text
    items: list[dict[str, Any]] = response.json()["items"]
    return items


def readable(service: RunningService, tenant: str, agent: str = "a") -> list[dict[str, Any]]:
    return [item for scope in SCOPES for item in listed(service, tenant, agent, scope)]


# Exporting and importing

a_note = st.fixed_dictionaries(
    {
        "type": st.sampled_from(TYPES),
        "text": st.text(
            st.characters(max_codepoint=0x24F, exclude_categories=("C", "Z")), min_size=1, max_size=60
        ),
        "importance": st.integers(0, 100).map(lambda n: n / 100),
        "confidence": st.integers(0, 100).map(lambda n: n / 100),
        "key": st.none() | st.sampled_from(["language", "a key", "x/y", "ключ"]),
        "ttl_days": st.none() | st.integers(2, 30_000),
        "source_ref": st.dictionaries(
            st.text("abc ", min_size=1, max_size=5),
            st.none() | st.integers(-9, 9) | st.text("xyz", max_size=9),
        ),
    }
)
some_notes = st.lists(st.tuples(a_note, st.sampled_from(SCOPES), st.sampled_from("ab")), max_size=12)


def as_said(item: dict[str, Any]) -> tuple[str, ...]:
    """What an export carries of a note but for its expiry."""
    carried = ("agent_id", "scope", "type", "key", "text", "importance", "confidence", "source_ref")
    return tuple(json.dumps(item[name], sort_keys=True) for name in carried)


def expiries(items: list[dict[str, Any]]) -> dict[tuple[str, ...], datetime | None]:
    return {
        as_said(item): item["expires_at"] and datetime.fromisoformat(item["expires_at"]) for item in items
    }


def test_what_is_exported_and_imported_elsewhere_are_the_same_notes(
    service: RunningService, config: Path, tenant: str, tmp_path: Path
) -> None:
    places = iter(f"{number} {tenant}"[:128] for number in range(1000))

    @settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(some_notes)
    def check(notes: list[tuple[dict[str, Any], str, str]]) -> None:
        origin, target, file = next(places), next(places), tmp_path / "notes.jsonl"
        for one, scope, agent in notes:
            service.add(origin, one, scope=scope, agent_id=agent)
        place = ["-c", str(config), "--tenant", origin, "--project", PROJECT, "--agent", "a"]
        assert main(["export", *place, str(file)]) == 0
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        file.write_text("".join(json.dumps(line | {"tenant_id": target}) + "\n" for line in lines))
        assert main(["import", "-c", str(config), str(file)]) == 0
        before, after = expiries(readable(service, origin)), expiries(readable(service, target))
        assert before.keys() == after.keys()
        for said, expiry in before.items():
            imported = after[said]
            assert (expiry is None) == (imported is None)
            # The moment stays, but for the time that an import is on its way and what a fraction of a day cuts off.
            assert expiry is None or abs(expiry - imported) < timedelta(hours=1)
        own = listed(service, origin, "b", "agent_private")
        assert not {as_said(item) for item in own} & before.keys()

    check()


def test_an_export_comes_in_pages_and_into_a_pipe(service: RunningService, config: Path, tenant: str) -> None:
    texts = {f"Locker {number} holds a {number}." for number in range(450)}
    for start in range(0, 450, 150):
        service.add(tenant, *(note(text, key=text) for text in sorted(texts)[start : start + 150]))
    done = run_elf("export", "-c", config, "--tenant", tenant, "--project", PROJECT)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(line["text"] for line in lines) == sorted(texts)
    assert "450 notes exported" in done.stderr


# Forgetting


@pytest.fixture
def remembered(service: RunningService, tenant: str) -> dict[str, str]:
    """The text of one private and one shared note of two agents in two projects, by `agent project scope`."""
    texts = {}
    for agent in "ab":
        for project in (PROJECT, "q"):
            for scope in SCOPES[:2]:
                place = f"{agent} {project} {scope}"
                text = texts[place] = f"The {agent} team of {project} wrote this {scope} note."
                service.add(tenant, note(text), agent_id=agent, project_id=project, scope=scope)
    return texts


def left(service: RunningService, tenant: str) -> set[str]:
    """The texts that any agent may still read in any project."""
    return {
        item["text"]
        for agent in "ab"
        for project in (PROJECT, "q")
        for scope in SCOPES
        for item in listed(service, tenant, agent, scope, project_id=project)
    }


@pytest.mark.parametrize(
    ("project", "agent", "forgotten"),
    [(PROJECT, None, r"[ab] p"), (PROJECT, "b", "b p"), ("q", "a", "a q"), (PROJECT, "nobody", "never")],
)
def test_what_is_forgotten_is_gone_and_that_of_others_stays(
    service: RunningService,
    config: Path,
    capsys: pytest.CaptureFixture[str],
    tenant: str,
    remembered: dict[str, str],
    project: str,
    agent: str | None,
    forgotten: str,
) -> None:
    whose = ["--tenant", tenant, "--project", project, *(["--agent", agent] if agent else [])]
    kept = {text for place, text in remembered.items() if not re.match(forgotten, place)}
    assert main(["forget", "-c", str(config), *whose, "--yes"]) == 0
    assert capsys.readouterr().out == f"{len(remembered) - len(kept)} notes deleted\n"
    assert left(service, tenant) == kept


def test_more_notes_than_one_request_deletes_are_forgotten_and_found_no_more(
    service: RunningService, elf: Elf, tenant: str
) -> None:
    results = service.add(tenant, *(note(f"Shelf {n} is full.", key=f"{n}") for n in range(250)))
    service.wait_found(tenant, "Which shelf is full?", results[0]["note_id"], top_k=100, candidate_k=1000)
    assert elf("forget", "--yes").out == "250 notes deleted\n"
    wait_for(lambda: not service.search(tenant, "Which shelf is full?"), "nothing is found")
    assert elf("restore", results[0]["note_id"]).out.startswith("UPDATE")


def test_nothing_is_forgotten_without_a_yes(
    service: RunningService,
    config: Path,
    capsys: pytest.CaptureFixture[str],
    tenant: str,
    remembered: dict[str, str],
) -> None:
    command = ["forget", "-c", str(config), "--tenant", tenant]
    assert main([*command, "--project", PROJECT]) == 2  # nobody sits here
    assert "say --yes" in capsys.readouterr().err
    assert main([*command, "--yes"]) == 2
    assert "--project ID, --agent ID or both" in capsys.readouterr().err
    assert left(service, tenant) == set(remembered.values())


# One note


def test_a_note_is_changed_deleted_and_restored_by_the_beginning_of_its_id(
    service: RunningService, elf: Elf, tenant: str
) -> None:
    (result,) = service.add(tenant, note("The key hangs by the door."), scope="agent_private")
    note_id = result["note_id"]
    short = note_id[:8]
    assert elf("update", short, "--text", "The key hangs in the shed.").out == f"UPDATE  {note_id}\n"
    assert "The key hangs in the shed." in elf("get", short).out
    assert elf("delete", note_id[:13]).out == f"DELETE  {note_id}\n"
    version = elf("history", short).out.splitlines()[-1].split()[0]
    assert elf("restore", short, "--version", version[:10]).out == f"UPDATE  {note_id}\n"
    assert "The key hangs by the door." in elf("get", note_id).out


def test_an_update_that_says_nothing_is_a_wrong_usage(elf: Elf) -> None:
    assert elf("update", "01234567").code == 2


def test_short_ids_never_cross_contexts(service: RunningService, elf: Elf, tenant: str) -> None:
    (result,) = service.add(tenant, note("Ana likes jazz."), scope="agent_private")
    service.wait_found(tenant, "What does Ana like?", result["note_id"])
    item = service.search(tenant, "What does Ana like?")[0]
    shorts = {"get": result["note_id"][:8], "explain": item["result_handle"][:8]}
    wait_for(lambda: elf("explain", item["result_handle"]).code == 0, "the trace is stored")
    for command, short in shorts.items():
        assert "Ana likes jazz." in elf(command, short).out
        kind = "note" if command == "get" else "result"
        assert f"no {kind} begins with {short} in this context" in elf(command, short, agent="b").err
        assert elf(command, short, project="q").code == 1
    version = elf("history", result["note_id"]).out.split()[0][:8]
    trace = elf("traces").out.split()[0][:8]
    for command in (("restore", result["note_id"], "--version", version), ("traces", trace)):
        assert f"begins with {command[-1]} in this context" in elf(*command, agent="b").err
    assert elf("history", shorts["get"], agent="b").code == 1
    assert elf("delete", shorts["get"], agent="b").code == 1
    assert "Ana likes jazz." in {one["text"] for one in listed(service, tenant, "a", "agent_private")}


def test_a_search_is_explained_with_the_texts_of_its_notes(
    service: RunningService, elf: Elf, tenant: str
) -> None:
    results = service.add(tenant, note("The canary sings at dawn."), note("The parrot eats two apples."))
    for result, query in zip(results, ("canary", "parrot"), strict=True):
        service.wait_found(tenant, query, result["note_id"])
    answer = service.post(
        "search",
        {"tenant_id": tenant, "project_id": PROJECT, "agent_id": "a", "read_profile": "all_scopes",
         "query": "When does the canary sing?", "top_k": 1},
    ).json()  # fmt: skip
    trace = answer["trace_id"]
    wait_for(lambda: elf("traces", trace).code == 0, "the trace is stored")
    shown = elf("explain", answer["items"][0]["result_handle"]).out
    assert "The canary sings at dawn." in shown
    assert "The parrot eats two apples." in shown  # which is not among the results
    assert "The canary sings at dawn." in elf("traces", trace[:8]).out
    service.admin.post("/v1/admin/forget", json={"tenant_id": tenant, "project_id": PROJECT})
    forgotten = elf("traces", trace[:8]).out
    assert answer["items"][0]["note_id"][:8] in forgotten
    assert "The canary sings at dawn." not in forgotten


# The whole


def test_status_tells_how_much_there_is(
    service: RunningService, config: Path, capsys: pytest.CaptureFixture[str], tenant: str
) -> None:
    service.add(tenant, note("The clock is slow."))
    counted = service.admin.get("/v1/admin/overview").json()
    assert counted["notes"] >= 1
    assert counted["disk_bytes"].keys() == {"postgres", "index", "model"}
    assert all(size > 0 for size in counted["disk_bytes"].values())
    service.admin.post("/v1/admin/forget", json={"tenant_id": tenant, "project_id": PROJECT})
    after = service.admin.get("/v1/admin/overview").json()
    assert (after["notes"], after["deleted_notes"]) == (counted["notes"] - 1, counted["deleted_notes"] + 1)
    assert main(["status", "-c", str(config)]) == 0
    assert f"notes    {after['notes']:,}, and" in capsys.readouterr().out


def test_status_counts_the_jobs_of_all_families(
    service: RunningService, config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = service.config.parent
    rows(
        folder,
        "INSERT INTO conversations_indexing_outbox (outbox_id, subject_id, op, embedding_version, status, lane,"
        " available_at) SELECT gen_random_uuid(), gen_random_uuid(), 'UPSERT', 'v', 'PENDING', -1,"
        " now() + interval '1 day' FROM generate_series(1, 509)",
    )
    try:
        assert 509 <= service.admin.get("/v1/admin/overview").json()["waiting_jobs"] < 600
        assert main(["status", "-c", str(config)]) == 0
        assert re.search(r"^waiting  5\d\d jobs", capsys.readouterr().out, re.MULTILINE)
    finally:
        rows(folder, "DELETE FROM conversations_indexing_outbox WHERE lane = -1")
