"""`elf key new`: a key that is shown once, and the table of a config that takes it."""

from __future__ import annotations

import stat
import tomllib
from pathlib import Path

import pytest
from command_line import CommandLine, Outcome

from elf.cli import main
from elf.config import load
from elf.config.auth import ApiKey
from elf.core.api_key import hash_of
from tests.keys_kit import with_keys


def made(capsys: pytest.CaptureFixture[str], *arguments: str) -> Outcome:
    code = main(["key", "new", *arguments])
    return Outcome(code, *capsys.readouterr())


def test_a_new_key_is_printed_with_the_table_that_takes_it(
    elf: CommandLine, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "..")
    flags = ("--tenant", 'a"cme', "--project", "p", "--agent", "a", "--read-profile", "all_scopes")
    outcome = made(capsys, "support bot", *flags, "--role", "auditor", "--user", "ana", "--acts-for-users")
    assert (outcome.code, outcome.err) == (0, "")
    key, _, table = outcome.out.partition("\n")
    assert key.startswith("elf_")
    elf.config.write_text(f"{with_keys(elf.config.read_text(), mode='off')}\n{table}")
    assert load(elf.config).security.auth.keys == [
        ApiKey(
            name="support bot",
            hash=hash_of(key),
            tenant_id='a"cme',
            project_id="p",
            agent_id="a",
            read_profile="all_scopes",
            role="auditor",
            user="ana",
            acts_for_users=True,
        )
    ]


def test_a_table_says_no_more_than_it_has_to(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = made(capsys, "bot"), made(capsys, "bot")
    assert first.out != second.out
    key, _, table = first.out.partition("\n")
    assert tomllib.loads(table) == {"security": {"auth": {"keys": [{"name": "bot", "hash": hash_of(key)}]}}}


def test_a_key_goes_to_a_file_that_only_its_owner_reads(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "bot.key"
    outcome = made(capsys, "bot", "--to", str(file), "--json")
    key = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert outcome.data == {"key_file": str(file), "table": {"name": "bot", "hash": hash_of(key)}}
    assert key not in made(capsys, "bot", "--to", str(tmp_path / "other.key")).out
    again = made(capsys, "bot", "--to", str(file))
    assert (again.code, file.read_text().strip()) == (2, key)
    assert "is there already and is left as it is" in again.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("",), "NAME must be a string that is not empty"),
        (("bot", "--tenant", " "), "--tenant must be a name of at most 128 characters, or empty"),
        (("bot", "--project", "项目"), "--project must hold neither CJK characters nor NUL"),
        (
            ("bot", "--to", "/no/such/folder/k"),
            "/no/such/folder/k cannot be written: No such file or directory",
        ),
    ],
)
def test_what_no_table_takes_is_named_by_its_flag(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], said: str
) -> None:
    outcome = made(capsys, *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith(f"elf: {said}")
