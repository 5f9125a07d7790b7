"""`elf mcp install`: the entry is where each program looks for it, and all else in the file stays."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest
from command_line import Outcome

from elf.cli import jsonc, main, mcp_install
from elf.cli.mcp_clients import CLIENTS
from tests.keys_kit import with_keys

EXAMPLE = Path(__file__).resolve().parents[3] / "elf.example.toml"
LINUX = {
    "claude-desktop": (".config/Claude/claude_desktop_config.json", "mcpServers"),
    "claude-code": (".claude.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".config/Code/User/mcp.json", "servers"),
    "zed": (".config/zed/settings.json", "context_servers"),
    "windsurf": (".codeium/windsurf/mcp_config.json", "mcpServers"),
}
ELSEWHERE = {
    ("darwin", "claude-desktop"): "Library/Application Support/Claude/claude_desktop_config.json",
    ("darwin", "vscode"): "Library/Application Support/Code/User/mcp.json",
    ("darwin", "zed"): ".config/zed/settings.json",
    ("win32", "claude-desktop"): "Roaming/Claude/claude_desktop_config.json",
    ("win32", "vscode"): "Roaming/Code/User/mcp.json",
    ("win32", "zed"): "Roaming/Zed/settings.json",
    ("win32", "cursor"): ".cursor/mcp.json",
}
ZED = """\
// Zed settings
{
  "vim_mode": true, // never without
  "context_servers": {
    "other": { "command": "other", "args": [] },
  },
}
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, on Linux, and a program elf-mcp to name."""
    scripts = tmp_path / "environment"
    scripts.mkdir()
    program = scripts / "elf-mcp"
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(scripts / "python"))
    monkeypatch.setattr(mcp_install.sysconfig, "get_path", lambda _: str(scripts))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return tmp_path


@pytest.fixture
def install(home: Path, capsys: pytest.CaptureFixture[str]) -> Install:
    return Install(home, capsys)


class Install:
    """Runs the command with a config in a folder that has a space in its name."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.config = home / "my memory" / "elf.toml"
        self.config.parent.mkdir()
        self.config.write_text(EXAMPLE.read_text())
        self.entry = {
            "command": str(home / "environment/elf-mcp"),
            "args": ["-c", str(self.config), "--stdio", "--family", "memories"],
        }
        self._capsys = capsys

    def __call__(self, client: str, *arguments: str) -> Outcome:
        code = main(["mcp", "install", "-c", str(self.config), "--client", client, *arguments])
        return Outcome(code, *self._capsys.readouterr())


@pytest.mark.parametrize("client", CLIENTS)
def test_the_entry_is_written_where_the_program_looks(install: Install, home: Path, client: str) -> None:
    place, table = LINUX[client]
    outcome = install(client)
    assert (outcome.code, outcome.err) == (0, "")
    assert str(home / place) in outcome.out
    entry = json.loads((home / place).read_text())[table]["elf"]
    assert entry.items() >= install.entry.items()
    assert entry.keys() - install.entry.keys() <= {"type"}
    assert "was set already" in install(client).out


@pytest.mark.parametrize(("system", "client"), ELSEWHERE)
def test_other_systems_have_other_places(
    home: Path, monkeypatch: pytest.MonkeyPatch, system: str, client: str
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setenv("APPDATA", str(home / "Roaming"))
    assert CLIENTS[client].file() == home / ELSEWHERE[system, client]


@pytest.mark.parametrize("client", CLIENTS)
def test_print_shows_the_entry_and_writes_nothing(install: Install, home: Path, client: str) -> None:
    place, table = LINUX[client]
    outcome = install(client, "--print")
    assert outcome.code == 0
    assert outcome.data[table]["elf"].items() >= install.entry.items()
    assert str(home / place) in outcome.err
    assert not (home / place).exists()


def test_all_else_in_the_file_stays(install: Install, home: Path) -> None:
    file = home / LINUX["zed"][0]
    file.parent.mkdir(parents=True)
    file.write_text(ZED)
    file.chmod(0o640)
    assert install("zed").code == 0
    changed = file.read_text()
    assert all(line in changed.splitlines() for line in ZED.splitlines())
    assert jsonc.read(changed) == {
        "vim_mode": True,
        "context_servers": {"other": {"command": "other", "args": []}, "elf": install.entry},
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert list(file.parent.iterdir()) == [file]


def test_an_entry_of_ours_is_renewed_and_keeps_what_a_user_added(install: Install, home: Path) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    old = {"command": "/old/elf-mcp", "args": ["--stdio"], "autoApprove": ["memory_search"]}
    file.write_text(json.dumps({"mcpServers": {"elf": old}}))
    assert install("cursor").code == 0
    assert json.loads(file.read_text())["mcpServers"]["elf"] == old | install.entry


def test_a_family_has_a_server_of_its_own_beside_that_of_all(install: Install, home: Path) -> None:
    assert install("cursor").code == 0
    assert "elf-notes is set" in install("cursor", "--family", "notes").out
    servers = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]
    assert servers == {
        "elf": install.entry,
        "elf-notes": install.entry | {"args": [*install.entry["args"][:-1], "notes"]},
    }


def test_a_family_that_is_off_has_no_server(install: Install, home: Path) -> None:
    text = install.config.read_text()
    install.config.write_text(text[: text.index("\n[graph]\n")] + text[text.index("\n[assistant]\n") :])
    outcome = install("cursor", "--family", "graph")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--family graph: the config has no table [graph], so that the family is off" in outcome.err


def test_a_link_stays_a_link(install: Install, home: Path) -> None:
    kept = home / "dotfiles.json"
    kept.write_text("\ufeff{}", encoding="utf-8")
    (home / ".claude.json").symlink_to(kept)
    assert install("claude-code").code == 0
    assert (home / ".claude.json").is_symlink()
    assert kept.read_text(encoding="utf-8").startswith("\ufeff{")
    assert json.loads(kept.read_text(encoding="utf-8-sig"))["mcpServers"]["elf"]["type"] == "stdio"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"mcpServers": ', "it is no JSON in line 1"),
        (b'{"mcpServers": []}', "its mcpServers is no object"),
        (b'{"mcpServers": {"elf": {"url": "http://elf/mcp"}}}', "it has a server elf already, at an address"),
        (b"\xff\xfe{}", "it is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_changed_safely_is_left_and_the_entry_shown(
    install: Install, home: Path, content: bytes, why: str
) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_bytes(content)
    outcome = install("cursor")
    assert (outcome.code, outcome.out) == (2, "")
    first, _, shown = outcome.err.partition(" Put this into it:\n")
    assert first.startswith(f"elf: {file} is left as it is: {why}")
    assert json.loads(shown) == {"mcpServers": {"elf": install.entry}}
    assert file.read_bytes() == content


def test_what_another_program_writes_meanwhile_is_not_lost(
    install: Install, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = home / ".claude.json"
    file.write_text("{}")

    def meanwhile(*_: object) -> None:
        file.write_text('{"a": 1}')

    monkeypatch.setattr(mcp_install.shutil, "copymode", meanwhile)
    outcome = install("claude-code")
    assert (outcome.code, file.read_text()) == (2, '{"a": 1}')
    assert "another program has just written to it" in outcome.err
    assert [path.name for path in home.glob(".*claude*")] == [".claude.json"]


def test_without_the_service_there_is_nothing_to_install(install: Install, home: Path) -> None:
    (home / "environment/elf-mcp").unlink()
    outcome = install("zed")
    assert outcome.code == 2
    assert "install the service" in outcome.err


def test_a_port_that_nobody_knows_is_named(install: Install) -> None:
    install.config.write_text(EXAMPLE.read_text().replace("127.0.0.1:8765", "127.0.0.1:0"))
    outcome = install("zed")
    assert (outcome.code, outcome.out) == (2, "")
    assert "service.http_bind has port 0" in outcome.err


def test_where_keys_are_required_the_entry_needs_a_file_with_one_and_does_not_hold_it(
    install: Install, home: Path
) -> None:
    text = with_keys(EXAMPLE.read_text(), {"key": "elf_a"})
    install.config.write_text(text)
    outcome = install("zed")
    assert (outcome.code, outcome.out) == (2, "")
    assert "mcp.context.key_file is empty" in outcome.err
    assert "elf key new" in outcome.err

    install.config.write_text(text.replace('key_file = ""', 'key_file = "desk.key"'))
    assert f"mcp.context.key_file: {install.config.parent / 'desk.key'} cannot be read" in install("zed").err
    (install.config.parent / "desk.key").write_text("elf_a\n")
    assert install("zed").code == 0
    entry = json.loads((home / LINUX["zed"][0]).read_text())["context_servers"]["elf"]
    assert entry["args"] == install.entry["args"]
    assert "elf_a" not in json.dumps(entry)
