"""Who calls a real service: by keys of its config, and by tokens of an issuer that lives in the test."""

from __future__ import annotations

import json
import re
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

import anyio
import httpx
import pytest

from elf.core.api_key import hash_of, new_key
from tests.folders import fresh_folder
from tests.issuer import Issuer, SigningKey
from tests.keys_kit import with_keys
from tests.system.service import RunningService, note, wait_for, write_config

pytestmark = pytest.mark.anyio

OPERATOR, AUDITOR, BOUND, LEAVING = new_key(), new_key(), new_key(), new_key()
FOR_USERS, OF_BOSS = new_key(), new_key()
KEYS: list[dict[str, Any]] = [
    {"name": "operator", "key": OPERATOR, "role": "admin"},
    {"name": "scraper", "key": AUDITOR, "role": "auditor"},
    {
        "name": "bot", "key": BOUND,
        "tenant_id": "acme", "project_id": "site", "agent_id": "bot", "read_profile": "private_plus_project",
    },
    {"name": "bot", "key": LEAVING},
    {"name": "app", "key": FOR_USERS, "acts_for_users": True},
    {"name": "desk", "key": OF_BOSS, "user": "boss"},
]  # fmt: skip
TOKENS = """
[security.auth.jwt]
issuer = "{issuer}"
tenant_claim = "org"
project = "{{user}}"

[security.auth.roles.auditor]
claims = ["elf-auditor"]

[security.auth.roles.admin]
users = ["boss"]
"""
ASKERS = 6
ASK_EVERY_S = (
    0.25  # the keys are not fetched again for half a minute, and the processor has other tests to run
)
IDS = ("tenant_id", "project_id", "agent_id")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class LiveIssuer(Issuer):
    """An issuer that listens at a port of this machine."""

    def __init__(self) -> None:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                answer = issuer.answer(httpx.Request("GET", f"http://localhost{self.path}"))
                self.send_response(answer.status_code)
                self.send_header("Content-Length", str(len(answer.content)))
                self.end_headers()
                self.wfile.write(answer.content)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        super().__init__(url=f"http://127.0.0.1:{self.server.server_port}")

    def __enter__(self) -> Self:
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def issuer() -> Iterator[LiveIssuer]:
    with LiveIssuer() as issuer:
        yield issuer


@pytest.fixture(scope="module")
def guarded(issuer: LiveIssuer, model_folder: Path) -> Iterator[RunningService]:
    """A service that asks who calls."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        text = with_keys(config.read_text(), *KEYS) + TOKENS.format(issuer=issuer.url)
        config.write_text(text)
        with RunningService(config) as service:
            yield service


def list_of(service: RunningService, headers: dict[str, str], **query: str) -> httpx.Response:
    return service.client.get("/v1/memory/list", params=query, headers=headers)


def by_token(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def refused(service: RunningService, headers: dict[str, str]) -> tuple[int, Any, bool]:
    answer = list_of(service, headers, tenant_id="acme", project_id="anna")
    return answer.status_code, answer.json(), "WWW-Authenticate" in answer.headers


def test_without_proof_only_what_is_open_is_answered(guarded: RunningService) -> None:
    for path in ("/health", "/ready", "/docs", "/openapi.json"):
        assert guarded.client.get(path).status_code == 200, path
    status, body, says_how = refused(guarded, {})
    assert (status, body["error_code"], says_how) == (401, "UNAUTHORIZED", True)
    assert guarded.client.post("/v1/memory/search", content=b"{").status_code == 401
    assert guarded.admin.get("/metrics").status_code == 401
    assert guarded.admin.post("/v1/admin/gc").status_code == 401


def test_a_key_that_is_wrong_and_one_that_never_was_get_the_same_answer(guarded: RunningService) -> None:
    before = lists_answered(guarded)
    answers = [refused(guarded, {"X-API-Key": key}) for key in (new_key(), BOUND[:-1], BOUND + "x", "x")]
    assert {json.dumps(body) for _, body, _ in answers} == {json.dumps(answers[0][1])}
    assert {(status, says_how) for status, _, says_how in answers} == {(401, True)}
    assert lists_answered(guarded) == before


def lists_answered(service: RunningService) -> float:
    """How many requests for lists got past the front, which is where statements begin."""
    page = service.admin.get("/metrics", headers={"X-API-Key": AUDITOR}).text
    counted = r'^elf_http_requests_total\{[^}]*route="/v1/memory/list",status="200"\} (\S+)'
    found = re.search(counted, page, re.MULTILINE)
    return float(found[1]) if found else 0.0


def test_the_log_warns_that_any_token_of_the_issuer_passes(guarded: RunningService) -> None:
    (warning,) = guarded.events("config_warning")
    assert warning["key"] == "security.auth.jwt.audience"
    assert "any token of the issuer passes" in warning["problem"]


def test_a_token_opens_what_it_is_bound_to(guarded: RunningService, issuer: LiveIssuer) -> None:
    anna = by_token(issuer.token("anna", org="acme"))
    assert list_of(guarded, anna).json() == {"items": [], "next_cursor": None}
    assert list_of(guarded, anna, tenant_id="acme", project_id="anna").status_code == 200
    for name, value in (("tenant_id", "other"), ("project_id", "bert")):
        denied = list_of(guarded, anna, **{name: value})
        assert (denied.status_code, denied.json()["error_code"]) == (403, "SCOPE_DENIED")
        assert denied.json()["fields"] == [f"$.{name}"]


def test_wrong_tokens_are_refused(guarded: RunningService, issuer: LiveIssuer) -> None:
    tokens = [
        issuer.token("anna", org="acme", exp=1),
        issuer.token("anna", org="acme", iss="https://elsewhere.example"),
        issuer.token("anna", org="acme", key=SigningKey("stranger")),
        issuer.token("anna"),
        "anna",
    ]
    for token in tokens:
        status, body, _ = refused(guarded, by_token(token))
        assert (status, body["error_code"]) == (401, "UNAUTHORIZED")
        assert token not in json.dumps(body)
    assert refused(guarded, {**by_token(tokens[0]), "X-API-Key": BOUND})[0] == 401


@pytest.mark.parametrize("name", [*IDS, "read_profile"])
def test_what_a_key_is_bound_to_is_filled_in_and_nothing_else_is_taken(
    guarded: RunningService, name: str
) -> None:
    key = {"X-API-Key": BOUND}
    search = guarded.client.post("/v1/memory/search", json={"query": "anything"}, headers=key)
    assert search.status_code == 200
    in_body = guarded.client.post("/v1/memory/search", json={"query": "anything", name: "other"}, headers=key)
    in_query = list_of(guarded, key, **{name: "other"})
    for answer in (in_body, in_query):
        assert (answer.status_code, answer.json()["fields"]) == (403, [f"$.{name}"])


def test_each_role_opens_what_it_is_for(guarded: RunningService, issuer: LiveIssuer) -> None:
    auditor = by_token(issuer.token("eve", org="acme", realm_access={"roles": ["elf-auditor"]}))
    callers = {
        "nobody": ({"X-API-Key": BOUND}, 403, 403),
        "key": ({"X-API-Key": AUDITOR}, 200, 403),
        "token": (auditor, 200, 403),
        "admin": ({"X-API-Key": OPERATOR}, 200, 200),
    }
    for name, (headers, reads, changes) in callers.items():
        assert guarded.admin.get("/metrics", headers=headers).status_code == reads, name
        assert guarded.admin.post("/v1/admin/gc", headers=headers).status_code == changes, name


def test_a_user_whom_a_key_names_has_no_role_beyond_that_of_the_key(
    guarded: RunningService, issuer: LiveIssuer
) -> None:
    by_keys = [{"X-API-Key": FOR_USERS, "X-User-ID": "boss"}, {"X-API-Key": OF_BOSS}]
    boss = by_token(issuer.token("boss", org="acme"))
    for headers, status in [*((one, 403) for one in by_keys), (boss, 200), ({**by_keys[0], **boss}, 200)]:
        assert guarded.admin.get("/metrics", headers=headers).status_code == status
        everybodys = guarded.client.get("/v1/admin/conversations", headers=headers)
        assert everybodys.status_code == status, everybodys.text


def test_the_log_says_who_changed_what_and_never_by_which_key(
    guarded: RunningService, issuer: LiveIssuer
) -> None:
    token = issuer.token("carla", org="acme")
    body = {"scope": "project_shared", "notes": [note("Fact: the bridge is green.")]}
    for headers in ({"X-API-Key": BOUND}, by_token(token)):
        given = body if "X-API-Key" in headers else {**body, "agent_id": "desk"}
        assert guarded.client.post("/v1/memory/add_note", json=given, headers=headers).status_code == 200
    add = "/v1/memory/add_note"
    assert wait_for(lambda: guarded.events("request", client="bot", route=add), "the key's write is logged")
    assert wait_for(lambda: guarded.events("request", user="carla", route=add), "the token's write is logged")
    for secret in (BOUND, OPERATOR, AUDITOR, LEAVING, token):
        assert secret not in guarded.log


def test_refusals_are_counted_by_their_reason(guarded: RunningService) -> None:
    refused(guarded, {})
    refused(guarded, {"X-API-Key": "x"})
    list_of(guarded, {"X-API-Key": BOUND}, tenant_id="other")
    page = guarded.admin.get("/metrics", headers={"X-API-Key": AUDITOR}).text
    for reason in ("no_identity", "unknown_key", "scope_denied"):
        assert f'elf_callers_refused_total{{front="http_front",reason="{reason}"}}' in page


def test_a_key_that_is_taken_out_is_unknown_after_a_hangup(guarded: RunningService) -> None:
    assert list_of(guarded, {"X-API-Key": LEAVING}, tenant_id="acme", project_id="p").status_code == 200
    text = guarded.config.read_text()
    guarded.config.write_text(text.replace(hash_of(LEAVING), "sha256:1"))
    guarded.send(signal.SIGHUP)
    wait_for(lambda: guarded.events("auth_not_changed"), "the faulty file is told of")
    assert list_of(guarded, {"X-API-Key": LEAVING}, tenant_id="acme", project_id="p").status_code == 200
    guarded.config.write_text(text.replace(hash_of(LEAVING), hash_of(new_key())))
    guarded.send(signal.SIGHUP)
    wait_for(lambda: guarded.events("auth_changed"), "the list is changed")
    never = refused(guarded, {"X-API-Key": new_key()})
    assert refused(guarded, {"X-API-Key": LEAVING}) == never
    assert refused(guarded, {"X-API-Key": BOUND})[0] == 403


async def test_an_issuer_that_rotates_goes_away_and_comes_back_gives_no_wrong_answer(
    guarded: RunningService, issuer: LiveIssuer
) -> None:
    known = issuer.token("anna", org="acme")
    # The keys are fetched when one of them is not known; whether that was lately, the tests before say.
    assert list_of(guarded, by_token(known)).status_code == 200
    answers: dict[str, set[int]] = {"known": set(), "unsigned": set(), "new": set()}
    stranger = issuer.token("anna", org="acme", key=SigningKey("stranger too", "ES256"))
    done = anyio.Event()
    tokens = {"known": known, "unsigned": stranger}

    async def ask_on(http: httpx.AsyncClient, name: str) -> None:
        while not done.is_set():
            with anyio.fail_after(30):
                answer = await http.get("/v1/memory/list", headers=by_token(tokens[name]))
            answers[name].add(answer.status_code)
            await anyio.sleep(ASK_EVERY_S)

    async with (
        httpx.AsyncClient(base_url=guarded.url, timeout=30) as http,
        anyio.create_task_group() as group,
    ):
        for _ in range(ASKERS):
            group.start_soon(ask_on, http, "known")
            group.start_soon(ask_on, http, "unsigned")
        issuer.away = True
        first = issuer.keys[0]
        issuer.keys = [SigningKey("second"), first]
        tokens["new"] = issuer.token("anna", org="acme")
        group.start_soon(ask_on, http, "new")
        await served(http, tokens["new"], {401, 503})
        issuer.away = False
        await served(http, tokens["new"], {200})
        done.set()
    assert answers["known"] == {200}
    assert answers["unsigned"] <= {401, 503}
    assert answers["new"] <= {200, 401, 503}


async def served(http: httpx.AsyncClient, token: str, wanted: set[int]) -> None:
    """Wait until a token is answered so."""
    with anyio.fail_after(90):
        while (await http.get("/v1/memory/list", headers=by_token(token))).status_code not in wanted:  # noqa: ASYNC110
            await anyio.sleep(0.2)
