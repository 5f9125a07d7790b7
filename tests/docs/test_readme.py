"""The README, typed word for word: what the command line, the Python client and an agent store, the others find.

Two things differ from what a reader types: the ports, because those of the README may be taken on this machine, and the
environment, which is not installed from the network but takes its packages from that of the tests.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextContent

from tests.folders import fresh_folder
from tests.readme import README, Block, blocks, section
from tests.system.addresses import free_addresses
from tests.system.checkout import make_checkout, newcomer
from tests.system.terminal import Terminal

PORTS = ("8765", "8766", "8767")
# What differs each time, and what stands for it: ids, whole or short, and how long ago something was.
VARYING = {
    r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b": "(id)",
    r"\b[0-9a-f]{8}\b": "(short id)",
    r"\bjust now\b|\b\d+ \w+ ago\b": "(age)",
}


class Newcomer:
    """Types what the README says, in a checkout of its own; `ports` are in place of those of the README.

    The home is empty, so the config names the model cache.
    """

    def __init__(self, folder: Path, ports: Mapping[str, str], cache: Path) -> None:
        self.folder = make_checkout(folder / "elf")
        self._ports = ports
        self._environment = newcomer(folder / "home")
        config = self.folder / "elf.example.toml"
        text = self.here(config.read_text(encoding="utf-8"))
        text, count = re.subn(r"(?m)^cache_dir = .*$", f'cache_dir = "{cache}"', text)
        assert count == 1
        config.write_text(text, encoding="utf-8")

    def here(self, text: str) -> str:
        """Put the ports of this machine in."""
        for named, port in self._ports.items():
            text = text.replace(f"127.0.0.1:{named}", f"127.0.0.1:{port}")
        return text

    @contextmanager
    def started(self, command: str) -> Iterator[None]:
        """Start the service; press Ctrl-C in the end."""
        with self._terminal(command) as terminal:
            terminal.wait_for("Ctrl-C stops it.")
            yield
            terminal.interrupt()
            assert terminal.wait_exit() == 0
            assert terminal.lines[-1] == "elf: stopped"

    def type(self, text: str) -> str:
        """Type commands, and return what the terminal shows then."""
        with self._terminal(self.here(text)) as terminal:
            assert terminal.wait_exit() == 0, terminal.text
            return terminal.text

    def run(self, program: Block) -> str:
        """Run a program as the README says it, and return what it prints."""
        assert program.language == "python"
        (self.folder / "first.py").write_text(self.here(program.text), encoding="utf-8")
        return self.type(".venv/bin/python first.py").replace("\n\n", "\n")

    def ask(self, tool: str, *calls: Mapping[str, Any]) -> list[Any]:
        """Call a tool with each of these arguments, in one process, as the program does whose entry was written."""
        return anyio.run(self._ask, tool, calls)

    async def _ask(self, tool: str, calls: Sequence[Mapping[str, Any]]) -> list[Any]:
        file = Path(self._environment["HOME"]) / ".config" / "Claude" / "claude_desktop_config.json"
        entry = json.loads(file.read_text(encoding="utf-8"))["mcpServers"]["elf"]
        async with Client(StdioServerParameters(**entry, env=self._environment, cwd="/")) as client:
            return [answer_of(await client.call_tool(tool, dict(arguments))) for arguments in calls]

    def _terminal(self, command: str) -> Terminal:
        return Terminal(["bash", "-ec", command], folder=self.folder, environment=self._environment)


def answer_of(result: CallToolResult) -> Any:
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert not result.is_error, content.text
    return json.loads(content.text)


@pytest.fixture
def user(model_folder: Path) -> Iterator[Newcomer]:
    with fresh_folder() as folder, free_addresses(len(PORTS)) as addresses:
        ports = [address.rpartition(":")[2] for address in addresses]
        yield Newcomer(folder, dict(zip(PORTS, ports, strict=True)), model_folder)


def shown(text: str) -> list[str]:
    """The lines of a screen that are not empty, without what differs each time."""
    for varying, name in VARYING.items():
        text = re.sub(varying, name, text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def test_what_one_door_stores_the_others_find_also_after_a_restart(user: Newcomer) -> None:
    start, _ = blocks(README.read_text(encoding="utf-8"))[0].text.splitlines()
    first = blocks(section("A first note"))
    typed, screen, program, printed, install, note, query, request, listing, listed = first
    search = typed.text.splitlines()[-1]
    with user.started(start):
        assert shown(user.type(typed.text)) == shown(screen.text)
    with user.started(start):
        assert shown(user.type(search)) == shown(screen.text)[1:]
        assert user.run(program) == printed.text
        user.type(install.text)
        stored, asked = json.loads(note.text), json.loads(query.text)
        (said,) = [message["content"] for message in stored["messages"]]
        (told,) = user.ask("remember", stored | {"wait_ms": 30_000})  # as long as a reader takes to type on
        assert told["done"]
        own, *others = user.ask("recall", asked, *queries_of(program))
        assert said in own["items"][0]["text"]
        assert [other["items"][0]["text"] for other in others] == snippets_of(printed)
        assert shown(user.type(listing.text)) == shown(listed.text)
        if shutil.which("curl"):  # nothing else needs it, so a machine of the tests may be without
            assert said in json.loads(user.type(request.text))["items"][0]["snippet"]
        talk, left, _ = blocks(section("Notes out of a conversation"))
        assert shown(user.type(talk.text)) == shown(left.text)


def queries_of(program: Block) -> list[Mapping[str, str]]:
    """What the program of the README searches for."""
    return [{"query": query} for query in re.findall(r'"([^"]+\?)"', program.text)]


def snippets_of(printed: Block) -> list[str]:
    """What it finds, as far as it is a note's text."""
    return [line.partition(" {")[0] for line in printed.text.splitlines()]
