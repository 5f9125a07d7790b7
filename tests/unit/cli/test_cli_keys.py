"""Keys on the command line: made, named by a file or a variable, sent with every request, and never shown."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import CommandLine
from fake_service import Answer, Asked, FakeService, error

from elf.cli.credentials import KEY, KEY_FILE, TOKEN
from elf.core.api_key import WEAK_KEYS
from tests.keys_kit import with_keys

BOT = "elf_the-key-of-a-bot"
EMPTY = {"items": [], "next_cursor": None}
DRIFT = {"missing_count": 0, "stale_count": 0, "orphaned_count": 0}
PROOF = ("x-api-key", "authorization", "x-user-id")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (KEY, KEY_FILE, TOKEN):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    file = tmp_path / "bot.key"
    file.write_text(f"{BOT}\n")
    file.chmod(0o600)
    return file


def list_key(elf: CommandLine, key: str = BOT, mode: str = "required", **names: object) -> None:
    elf.config.write_text(with_keys(elf.config.read_text(), {"key": key, **names}, mode=mode))


def proofs(service: FakeService) -> list[dict[str, str]]:
    return [{name: asked.headers[name] for name in PROOF if name in asked.headers} for asked in service.asked]


# Sending


def test_the_key_of_a_file_is_sent(elf: CommandLine, service: FakeService, key_file: Path) -> None:
    service.respond = lambda _: Answer(body=EMPTY)
    assert elf("list", "--key-file", str(key_file)).code == 0
    assert proofs(service) == [{"x-api-key": BOT}]


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        ("gc", {"ran": True, "counts": {}, "failed": {}}),
        ("rebuild", {"error_count": 0}),
        ("drift", DRIFT),
        ("forget", {"notes": 0, "deleted": 0, "more": False}),
    ],
)
def test_the_key_is_sent_to_the_admin_address_and_no_user_with_it(
    elf: CommandLine, service: FakeService, key_file: Path, command: str, answer: object
) -> None:
    text = elf.config.read_text().replace(f"127.0.0.1:{service.port}", "127.0.0.1:1")
    text = text.replace("127.0.0.1:8767", f"127.0.0.1:{service.port}")
    elf.config.write_text(text.replace('\nuser = ""\n\n', '\nuser = "ana"\n\n', 1))
    list_key(elf, role="admin")
    service.respond = lambda _: Answer(body=answer)
    more = ("--project", "p", "--yes") if command == "forget" else ()
    outcome = elf(command, "--key-file", str(key_file), *more)
    assert outcome.code == 0, outcome.err
    assert all(proof == {"x-api-key": BOT} for proof in proofs(service))
    assert service.asked


def test_variables_stand_in_for_the_flag(
    elf: CommandLine, service: FakeService, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.respond = lambda _: Answer(body=EMPTY)
    elf("list")
    monkeypatch.setenv(TOKEN, "a-token")
    monkeypatch.setenv(KEY, "elf_of_the_environment")
    elf("list")
    elf("list", "--key-file", str(key_file))
    monkeypatch.delenv(TOKEN)
    monkeypatch.setenv(KEY, "")
    monkeypatch.setenv(KEY_FILE, str(key_file))
    elf("list")
    assert proofs(service) == [
        {},
        {"x-api-key": "elf_of_the_environment", "authorization": "Bearer a-token"},
        {"x-api-key": BOT, "authorization": "Bearer a-token"},
        {"x-api-key": BOT},
    ]


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({KEY: "elf_a", KEY_FILE: "b.key"}, f"{KEY} and {KEY_FILE} are both set: unset one"),
        ({KEY: "two words"}, f"{KEY} must be of one or more printable ASCII characters"),
        ({TOKEN: "line\nbreak"}, f"{TOKEN} must be of one or more printable ASCII characters"),
        ({KEY_FILE: "none.key"}, f"{KEY_FILE}: none.key cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_sent_is_a_wrong_usage_and_not_shown(
    elf: CommandLine,
    service: FakeService,
    monkeypatch: pytest.MonkeyPatch,
    variables: dict[str, str],
    said: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    outcome = elf("list")
    assert (outcome.code, service.asked) == (2, [])
    assert outcome.err.startswith(f"elf: {said}")
    assert "two words" not in outcome.err


@pytest.mark.parametrize("content", [None, "", "two words"])
def test_a_file_without_a_key_is_named(elf: CommandLine, tmp_path: Path, content: str | None) -> None:
    file = tmp_path / "odd.key"
    if content is not None:
        file.write_text(content)
    outcome = elf("list", "--key-file", str(file))
    assert outcome.code == 2
    assert outcome.err.startswith(f"elf: --key-file: {file} ")


def test_the_user_of_the_defaults_is_named_where_nobody_has_to_prove_it(
    elf: CommandLine, service: FakeService, key_file: Path
) -> None:
    text = elf.config.read_text()
    elf.config.write_text(text.replace('\nuser = ""\n\n', '\nuser = "ana"\n\n', 1))
    service.respond = lambda _: Answer(body=EMPTY)
    elf("list")
    elf("list", "--key-file", str(key_file))
    for mode, acts in (("off", True), ("required", True), ("required", False)):
        list_key(elf, mode=mode, acts_for_users=acts)
        elf("list", "--key-file", str(key_file))
    assert proofs(service) == [
        {"authorization": "Bearer ana"},
        {"x-api-key": BOT, "x-user-id": "ana"},  # no config of a service lists no keys and is sent one
        {"x-api-key": BOT, "authorization": "Bearer ana"},
        {"x-api-key": BOT, "x-user-id": "ana"},
        {"x-api-key": BOT},  # which would be refused with a user
    ]


def test_no_default_is_sent_for_what_a_listed_key_binds(
    elf: CommandLine, service: FakeService, key_file: Path
) -> None:
    list_key(elf, tenant_id="acme", agent_id="bot", read_profile="private_only")
    service.respond = lambda _: Answer(body=EMPTY)
    elf("list", "--key-file", str(key_file))
    elf("list", "--key-file", str(key_file), "--tenant", "other")
    elf("list")
    bound, flagged, free = (asked.params for asked in service.asked)
    assert bound == {"project_id": "default"}
    assert flagged == {"project_id": "default", "tenant_id": "other"}
    assert free.keys() == {"tenant_id", "project_id", "agent_id", "read_profile"}


def test_the_project_of_a_user_is_the_users_own_unless_one_is_named(
    elf: CommandLine, service: FakeService, key_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service.respond = lambda _: Answer(body=EMPTY)
    with_key = ("--key-file", str(key_file))
    elf("list")
    elf("list", *with_key)  # this config does not list it, so only the service knows whose it is
    list_key(elf, user="ana")
    elf("list", *with_key)
    elf("list", *with_key, "--project", "site")
    list_key(elf)
    elf("list", *with_key)
    monkeypatch.setenv(TOKEN, "a.json.webtoken")
    elf("list")
    list_key(elf, mode="off")
    monkeypatch.setenv(TOKEN, "ben")
    elf("list")
    monkeypatch.delenv(TOKEN)
    text = elf.config.read_text()
    elf.config.write_text(text.replace('\nuser = ""\n\n', '\nuser = "cleo"\n\n', 1))
    elf("list")
    projects = [asked.params.get("project_id") for asked in service.asked]
    assert projects == ["default", None, "ana", "site", "default", None, "ben", "cleo"]


# Refusals


def refuse(status: int, code: str, message: str) -> Answer:
    return error(status, code, message=message)


def test_a_stranger_is_told_what_to_set(elf: CommandLine, service: FakeService) -> None:
    service.respond = lambda _: refuse(401, "UNAUTHORIZED", "say who you are")
    outcome = elf("list")
    assert outcome.code == 1
    assert outcome.err == (
        "elf: UNAUTHORIZED: say who you are; no key was sent: name a file with a key by --key-file or "
        "ELF_API_KEY_FILE, or set ELF_API_KEY or ELF_TOKEN\n"
    )


@pytest.mark.parametrize(
    ("status", "code"), [(401, "UNAUTHORIZED"), (403, "FORBIDDEN"), (403, "SCOPE_DENIED")]
)
def test_who_is_refused_is_told_by_which_key(
    elf: CommandLine, service: FakeService, key_file: Path, status: int, code: str
) -> None:
    service.respond = lambda _: refuse(status, code, "no")
    outcome = elf("list", "--key-file", str(key_file))
    assert outcome.err == f"elf: {code}: no; sent: the key of --key-file {key_file}\n"
    assert BOT not in outcome.err + outcome.out


def test_an_import_ends_where_nobody_takes_its_key(
    elf: CommandLine, service: FakeService, tmp_path: Path
) -> None:
    lines = tmp_path / "notes.jsonl"
    lines.write_text("".join(f'{{"text": "Fact: {number}."}}\n' for number in range(40)))

    def respond(asked: Asked) -> Answer:
        return refuse(401, "UNAUTHORIZED", "say who you are")

    service.respond = respond
    outcome = elf("import", str(lines))
    assert outcome.code == 1
    assert "UNAUTHORIZED: say who you are; no key was sent" in outcome.err
    assert len(service.asked) <= 4  # one a lane


# Checking


def test_check_says_who_may_call(elf: CommandLine) -> None:
    list_key(elf)
    assert "security.auth.mode is required: who calls has a key of 1 listed" in elf("check").out


@pytest.mark.parametrize("word", ["", "secret", "changeme"])
def test_check_finds_keys_that_anybody_guesses(elf: CommandLine, word: str) -> None:
    assert word in WEAK_KEYS
    list_key(elf, word)
    outcome = elf("check")
    assert outcome.code == 2
    assert "security.auth.keys[0].hash: is that of a key which anybody guesses" in outcome.err


JWT = """
[security.auth.jwt]
issuer = "https://id.example"
user_claims = ["sub", "preferred_username", "profile.email"]
"""


@pytest.mark.parametrize(
    ("jwt", "keys"),
    [
        ("", []),
        (
            JWT,
            [
                "security.auth.jwt.user_claims[1]",
                "security.auth.jwt.user_claims[2]",
                "security.auth.jwt.audience",
            ],
        ),
        (
            JWT + 'audience = "elf"\n',
            ["security.auth.jwt.user_claims[1]", "security.auth.jwt.user_claims[2]"],
        ),
        ('[security.auth.jwt]\nissuer = "https://id.example"\n', ["security.auth.jwt.audience"]),
        ('[security.auth.jwt]\nissuer = "https://id.example"\naudience = "elf"\n', []),
    ],
)
def test_check_warns_of_users_who_may_become_others_and_of_tokens_for_others(
    elf: CommandLine, jwt: str, keys: list[str]
) -> None:
    list_key(elf)
    elf.config.write_text(elf.config.read_text() + jwt)
    warnings = elf("check", "--json").data["warnings"]
    assert [warning["key"] for warning in warnings] == keys
    assert elf("check").out.count("warning: ") == len(keys)
    if jwt == JWT:
        said = [warning["problem"] for warning in warnings]
        assert "preferred_username is a claim that users can change" in said[0]
        assert "any token of the issuer passes" in said[2]


def test_check_warns_of_key_files(elf: CommandLine, key_file: Path) -> None:
    text = elf.config.read_text()
    assert text.count('key_file = ""') == 1
    elf.config.write_text(text.replace('key_file = ""', 'key_file = "bot.key"'))
    assert elf("check", "--json").data["warnings"] == []
    key_file.chmod(0o644)
    (warning,) = elf("check", "--json").data["warnings"]
    assert warning["key"] == "mcp.context.key_file"
    assert f"every user of this machine may read {key_file}" in warning["problem"]
    assert f"warning: mcp.context.key_file: {warning['problem'].partition(': ')[2]}" in elf("check").out
    key_file.unlink()
    assert "cannot be read: No such file" in elf("check").out
