"""Search filters over HTTP, against the whole service: what they let through, as a plain filter does, and refuse."""

from __future__ import annotations

import random
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.system.service import RunningService, note, search_body, wait_for

TENANT = "filters"
TYPES = ("preference", "constraint", "decision", "profile", "fact", "plan")
SCOPES = ("agent_private", "project_shared", "org_shared")
PROFILES = {"private_only": SCOPES[:1], "private_plus_project": SCOPES[:2], "all_scopes": SCOPES}
AGENTS = ("a", "b")
KEYS = ("deploy/api", "deploy/web", "deploy", "Deploy/api", "dep%", "dep_loy", "naïve 😀", "naïve")
REFERENCES: tuple[dict[str, Any], ...] = (
    {},
    {"ticket": "SUP-1", "build": 7},
    {"ticket": "SUP-2", "build": 7.0, "ok": True},
    {"ticket": None, "build": "7", "ok": 1},
    {"app": {"name": "elf", "version": {"major": 1}}, "ok": False},
    {"app.name": "elf", "app": {"version.major": 1}},
    {"app": {"name": ["elf"]}, "ticket": ["SUP-1"], "build": -0.0},
    {"app": "elf", "build": 1e23, "": {"": "nobody"}},
    {f"field {number}": number for number in range(100)} | {"ticket": "SUP-1"},
    {"ticket": "SUP-2", "log": [f"line {number}" for number in range(2000)]},
)


class Known(NamedTuple):
    """Notes as they were read back, and the moments they know."""

    notes: Mapping[str, Mapping[str, Any]]
    moments: list[str]


@pytest.fixture(scope="module")
def known(service: RunningService) -> Known:
    """Notes of two agents in all scopes, of which some were changed after they were made."""
    rng = random.Random(4)
    ids: dict[str, str] = {}
    for number in range(110):
        agent = rng.choice(AGENTS)
        made = note(
            f"Number {number} is about the {rng.choice(('harbour', 'garden', 'bridge'))}.",
            type=rng.choice(TYPES),
            key=f"{rng.choice(KEYS)} {number}" if rng.random() < 0.7 else None,
            source_ref=rng.choice(REFERENCES),
        )
        place = {"agent_id": agent, "scope": rng.choice(SCOPES)}
        body = {"tenant_id": TENANT, "project_id": "p", "merge_similar": False, "notes": [made], **place}
        ids[service.post("add_note", body).json()["results"][0]["note_id"]] = agent
    for note_id, agent in rng.sample(list(ids.items()), 30):
        owner = {"tenant_id": TENANT, "project_id": "p", "agent_id": agent}
        assert service.post("update", owner | {"note_id": note_id, "importance": 0.7}).is_success
    notes = {note_id: _read(service, note_id, agent) for note_id, agent in ids.items()}
    moments = sorted({one[name] for one in notes.values() for name in ("created_at", "updated_at")})
    return Known(notes, rng.sample(moments, 12))


def _read(service: RunningService, note_id: str, agent: str) -> dict[str, Any]:
    owner = {"tenant_id": TENANT, "project_id": "p", "agent_id": agent}
    found: dict[str, Any] = service.client.get(f"/v1/memory/notes/{note_id}", params=owner).json()
    return found


# What a filter says, spelt out


def is_seen(one: Mapping[str, Any], agent: str, profile: str) -> bool:
    return one["scope"] in PROFILES[profile] and (one["scope"] != "agent_private" or one["agent_id"] == agent)


def passes(one: Mapping[str, Any], filters: Mapping[str, Any]) -> bool:
    return all(_holds(one, name, value) for name, value in filters.items())


def _holds(one: Mapping[str, Any], name: str, value: Any) -> bool:
    if name in ("type", "scope"):
        return one[name] in value
    if name == "key_prefix":
        return one["key"] is not None and one["key"].startswith(value)
    if name == "source":
        return all(
            (path, _kind(wanted), wanted) in _fields(one["source_ref"]) for path, wanted in value.items()
        )
    field, bound = name.split("_")
    moment, limit = _moment(one[f"{field}_at"]), _moment(value)
    return moment >= limit if bound == "since" else moment < limit


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _fields(reference: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for name, value in reference.items():
        if isinstance(value, dict):
            found += _fields(value, f"{prefix}{name}.")
        elif not isinstance(value, list):
            found.append((prefix + name, _kind(value), value))
    return found


def _kind(value: Any) -> str:
    return "number" if type(value) in (int, float) else type(value).__name__


# Random filters

PATHS = (
    "ticket",
    "build",
    "ok",
    "app",
    "app.name",
    "app.version.major",
    "field 7",
    "field 99",
    ".",
    "nowhere",
)
VALUES = ("SUP-1", "SUP-2", "elf", "nobody", "7", 7, 7.0, 0, 1, 99, 1e23, True, False, None)
PREFIXES = (
    "d",
    "de",
    "dep",
    "dep%",
    "dep_",
    "deploy",
    "deploy/",
    "deploy/api 1",
    "D",
    "naïve",
    "naïve 😀",
    "x",
)


@st.composite
def filters(draw: st.DrawFn, moments: list[str], profile: str) -> dict[str, Any]:
    moment = st.one_of(
        st.sampled_from(moments),
        st.sampled_from(moments).map(_a_tick_later),
        st.sampled_from(moments).map(lambda text: text[:10]),
    )
    drawn: dict[str, Any] = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "type": st.lists(st.sampled_from(TYPES), min_size=1, max_size=4),
                "key_prefix": st.sampled_from(PREFIXES),
                "scope": st.lists(st.sampled_from(PROFILES[profile]), min_size=1, max_size=3),
                "updated_since": moment,
                "created_since": moment,
                "updated_before": moment,
                "created_before": moment,
                "source": st.dictionaries(
                    st.sampled_from(PATHS), st.sampled_from(VALUES), min_size=1, max_size=3
                ),
            },
        )
    )
    for field in ("updated", "created"):
        since, before = drawn.get(f"{field}_since"), drawn.get(f"{field}_before")
        if since is not None and before is not None and _moment(since) >= _moment(before):
            del drawn[f"{field}_before"]
    return drawn


def _a_tick_later(moment: str) -> str:
    later = _moment(moment) + timedelta(microseconds=1)
    return later.astimezone(UTC).isoformat()


@given(data=st.data(), agent=st.sampled_from(AGENTS), profile=st.sampled_from(sorted(PROFILES)))
def test_a_search_finds_what_a_plain_filter_lets_through(
    service: RunningService, known: Known, data: st.DataObject, agent: str, profile: str
) -> None:
    wanted = data.draw(filters(known.moments, profile))
    due = {
        note_id
        for note_id, one in known.notes.items()
        if is_seen(one, agent, profile) and passes(one, wanted)
    }
    body = search_body(
        TENANT,
        "the harbour",
        agent_id=agent,
        read_profile=profile,
        top_k=100,
        candidate_k=1000,
        filters=wanted,
    )
    answer = service.post("search", body).json()
    assert answer["degraded"] == []
    assert {item["note_id"] for item in answer["items"]} == due


@pytest.mark.parametrize("wanted", [{"build": 7}, {"app.name": "elf", "ok": False}, {"field 7": 7}])
def test_notes_that_the_index_does_not_know_well_take_nobody_s_place(
    service: RunningService, known: Known, wanted: dict[str, Any]
) -> None:
    """Asked for by their very words, they are the first candidates of every search by source."""
    seen = [one for one in known.notes.values() if is_seen(one, "a", "all_scopes")]
    assert any(passes(one, {"source": wanted}) for one in seen)
    large = [one for one in seen if "log" in one["source_ref"]]
    assert len(large) > 3
    for one in large:
        found = service.search(TENANT, one["text"], top_k=1, candidate_k=1, filters={"source": wanted})
        assert [passes(known.notes[item["note_id"]], {"source": wanted}) for item in found] == [True]


@pytest.mark.parametrize(
    "wanted", [{"key_prefix": "deploy/"}, {"updated_since": 3}, {"updated_since": 2, "updated_before": 9}]
)
def test_a_list_shows_what_a_plain_filter_lets_through(
    service: RunningService, known: Known, wanted: dict[str, Any]
) -> None:
    moments = sorted(known.moments)
    filters = {name: moments[value] if isinstance(value, int) else value for name, value in wanted.items()}
    asked = {
        "tenant_id": TENANT,
        "project_id": "p",
        "agent_id": "a",
        "read_profile": "all_scopes",
        "limit": "200",
    }
    answer = service.client.get("/v1/memory/list", params=asked | filters)
    due = {
        note_id
        for note_id, one in known.notes.items()
        if is_seen(one, "a", "all_scopes") and passes(one, filters)
    }
    assert {item["note_id"] for item in answer.json()["items"]} == due
    assert due


def test_the_trace_says_which_filters_there_were_and_what_they_dropped(
    service: RunningService, known: Known
) -> None:
    """The index does not know all fields of a large reference: Postgres says that it does not match."""
    wanted = {"scope": ["org_shared"], "source": {"field 7": 7}}
    body = search_body(TENANT, "the harbour", top_k=100, candidate_k=1000, filters=wanted)
    answer = service.post("search", body).json()
    large = {
        note_id
        for note_id, one in known.notes.items()
        if one["scope"] == "org_shared" and "log" in one["source_ref"]
    }
    path = f"/v1/memory/search/traces/{answer['trace_id']}"
    owner = {"tenant_id": TENANT, "project_id": "p", "agent_id": "a"}
    told = wait_for(
        lambda: found.json() if (found := service.client.get(path, params=owner)).is_success else None,
        "the trace has been stored",
    )
    assert told["trace"]["filters"] == wanted
    assert told["trace"]["allowed_scopes"] == ["org_shared"]
    assert {(one["note_id"], one["reason_code"], one["filter"]) for one in told["dropped"]} == {
        (note_id, "FILTERED", "source") for note_id in large
    }
    assert large
    listed = service.client.get("/v1/memory/search/traces", params=owner).json()["items"]
    assert wanted in [one["filters"] for one in listed]


def test_a_secret_in_a_filter_does_not_stay(service: RunningService, tenant: str) -> None:
    secret = "AKIAIOSFODNN7QWERTYU"
    answer = service.post("search", search_body(tenant, "tea", filters={"source": {"token": secret}})).json()
    path = f"/v1/memory/search/traces/{answer['trace_id']}"
    owner = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    told = wait_for(
        lambda: found if (found := service.client.get(path, params=owner)).is_success else None,
        "the trace has been stored",
    )
    assert secret not in told.text
    assert "token" in told.json()["trace"]["filters"]["source"]


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"type": "fact"}, "$.filters.type"),
        ({"type": []}, "$.filters.type"),
        ({"type": ["fact", "idea"]}, "$.filters.type[1]"),
        ({"key_prefix": ""}, "$.filters.key_prefix"),
        ({"key_prefix": "x" * 129}, "$.filters.key_prefix"),
        ({"scope": []}, "$.filters.scope"),
        ({"updated_since": "yesterday"}, "$.filters.updated_since"),
        ({"updated_before": "2026-01-31T09:30:00"}, "$.filters.updated_before"),
        ({"created_since": 1767225600}, "$.filters.created_since"),
        ({"created_since": "1767225600"}, "$.filters.created_since"),
        ({"created_before": "2026-02-30"}, "$.filters.created_before"),
        ({"created_before": "0001-01-01T00:00:00+14:00"}, "$.filters.created_before"),
        ({"updated_since": "2026-01-02", "updated_before": "2026-01-02"}, "$.filters"),
        ({"source": {}}, "$.filters.source"),
        ({"source": "ticket"}, "$.filters.source"),
        ({"source": {str(number): 1 for number in range(9)}}, "$.filters.source"),
        ({"source": {"a.b.c.d.e.f.g.h": 1}}, "$.filters.source"),
        ({"source": {"": 1}}, '$.filters.source[""]'),
        ({"source": {"app": {"name": "elf"}}}, '$.filters.source["app"]'),
        ({"source": {"app": ["elf"]}}, '$.filters.source["app"]'),
        ({"source": {"app": "x" * 1025}}, '$.filters.source["app"]'),
        ({"keyprefix": "x"}, "$.filters.keyprefix"),
        ([], "$.filters"),
    ],
    ids=str,
)
def test_a_filter_that_is_none_is_named(service: RunningService, tenant: str, wrong: Any, path: str) -> None:
    response = service.post("search", search_body(tenant, "tea", filters=wrong))
    assert (response.status_code, response.json()["error_code"]) == (400, "INVALID_REQUEST")
    assert response.json()["fields"] == [path]


@pytest.mark.parametrize("scope", ["project_shared", "nowhere"])
def test_a_filter_opens_no_scope_that_the_profile_does_not_read(
    service: RunningService, tenant: str, scope: str
) -> None:
    wanted = {"scope": ["agent_private", scope]}
    response = service.post("search", search_body(tenant, "tea", read_profile="private_only", filters=wanted))
    assert (response.status_code, response.json()["error_code"]) == (403, "SCOPE_DENIED")
    assert response.json()["fields"] == ["$.filters.scope[1]"]
