"""Every command of `elf`, with its ordinary arguments: how it ends, and that it never ends in a traceback."""

from __future__ import annotations

import argparse
import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import structlog

from elf.cli import main
from elf.cli.arguments import parser
from elf.client.families import FAMILY_CLIENTS
from tests.folders import fresh_folder
from tests.system.command_table import ELSEWHERE, ROWS, Row
from tests.system.service import RunningService, wait_for, write_config

TENANT: Final = "acme"
PLAIN, WITH_JSON, SPARE, OF_PLAIN = 1, 2, 3, 4
"""The runs of a command: the objects of the last one are of a plain run whose ids nobody is told."""


@pytest.fixture(autouse=True)
def _fresh_logging() -> Iterator[None]:
    """Commands that need no service, such as `elf model`, set up the log of the process they run in."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield every command that has none below it."""
    command.complete()
    below = [one for one in command._actions if isinstance(one, argparse._SubParsersAction)]
    if not below:
        yield " ".join(path), command
    for one in below:
        for name, parsed in one.choices.items():
            yield from leaves(parsed, (*path, name))


COMMANDS: Final = dict(leaves(parser(FAMILY_CLIENTS)))


def flags_of(command: str) -> set[str]:
    return {flag for action in COMMANDS[command]._actions for flag in action.option_strings}


class Ended(NamedTuple):
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


class Runner:
    """Runs commands in one tenant of one service, and keeps what they answer."""

    def __init__(self, config: Path, folder: Path, model: str, capsys: pytest.CaptureFixture[str]) -> None:
        self.config = config
        self.capsys = capsys
        self.kept: dict[str, str] = {"folder": str(folder), "tenant": TENANT, "model": model}

    def run(self, row: Row, *more: str, number: int) -> Ended:
        """Run a command; return how it ended and what it printed."""
        flags = flags_of(row.command)
        given = ["-c", str(self.config)] if "--config" in flags else []
        given += ["--tenant", TENANT] if "--tenant" in flags and row.needs_service else []
        told = [self.filled(one, number) for one in row.arguments]
        try:
            code = main([*row.command.split(), *told, *given, *more])
        except SystemExit as ended:  # of wrong arguments
            code = int(ended.code or 0)
        return Ended(code, *self.capsys.readouterr())

    def filled(self, argument: str, number: int) -> str:
        argument = argument.replace("{n}", str(number))
        return re.sub(r"\{(\w+)\}", lambda name: self.kept.get(name[1], name[0]), argument)

    def keep(self, row: Row, number: int, out: str) -> None:
        """Keep what a row says of an answer."""
        for name, path in row.keeps.items():
            value = json.loads(out)
            for part in filter(None, path.replace("{k}", str((number - 1) % 2)).split(".")):
                value = value[int(part)] if part.isdigit() else value[part]
            text = value if isinstance(value, str) else json.dumps(value)
            self.kept |= {name: text, f"{name}{number}": text}


def _with_roles(config: Path) -> Path:
    """Give whoever calls every role, as nobody proves who calls."""
    roles = "".join(f'\n[security.auth.roles.{role}]\nusers = ["local"]\n' for role in ("admin", "indexer"))
    config.write_text(config.read_text(encoding="utf-8") + roles, encoding="utf-8")
    return config


@pytest.fixture(scope="module")
def served(model_folder: Path) -> Iterator[tuple[RunningService, Path]]:
    """A service of its own, as users and tenants are erased, and a config that leads to it."""
    with (
        fresh_folder() as folder,
        RunningService(_with_roles(write_config(folder, cache_dir=f'"{model_folder}"'))) as service,
        fresh_folder() as other,
    ):
        binds = {
            f"{name}_bind": json.dumps(url.removeprefix("http://").removesuffix("/mcp"))
            for name, url in (("http", service.url), ("admin", service.admin_url), ("mcp", service.mcp_url))
        }
        yield service, write_config(other, **binds)


def test_every_command_is_in_the_table() -> None:
    assert sorted({row.command for row in ROWS} | ELSEWHERE.keys()) == sorted(COMMANDS)
    assert len({row.command for row in ROWS}) == len(ROWS)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_a_wrong_argument_is_a_wrong_usage(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command.split(), "--no-such-flag"])
    said = capsys.readouterr()
    assert (ended.value.code, said.out) == (2, "")
    assert said.err.startswith("usage: elf")
    assert "Traceback" not in said.err


@pytest.mark.timeout(600)
def test_every_command_ends_as_documented_in_words_and_in_json(
    served: tuple[RunningService, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    service, config = served
    (tmp_path / "messages.json").write_text('[{"role": "user", "content": "I like tea."}]')
    runner = Runner(config, tmp_path, "all-MiniLM-L6-v2", capsys)
    wrong = []
    for row in ROWS:
        if row.is_soon:
            wait_for(lambda row=row: runner.run(row, number=PLAIN).code == row.code, row.command)  # type: ignore[misc]
        for number in (PLAIN, SPARE) if row.keeps else ():
            runner.keep(row, number, runner.run(row, "--json", number=number).out)
        plain = runner.run(row, number=OF_PLAIN if row.keeps else PLAIN)
        ended = [plain]
        if "--json" in flags_of(row.command):
            ended.append(as_json := runner.run(row, "--json", number=WITH_JSON))
            runner.keep(row, WITH_JSON, as_json.out)
        wrong += [
            (row.command, row.code, one) for one in ended if one.code != row.code or "Traceback" in one.err
        ]
        wrong += [(row.command, "err", plain) for _ in range(plain.code == 1 and "elf: " not in plain.err)]
    assert not wrong, "\n".join(map(str, wrong))
    assert service.complaints() == []


def test_without_a_service_every_command_that_needs_one_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nowhere = (("http", 1), ("admin", 2), ("mcp", 3))  # ports at which nobody listens
    binds = {f"{name}_bind": f'"127.0.0.1:{port}"' for name, port in nowhere}
    runner = Runner(write_config(tmp_path, **binds), tmp_path, "", capsys)
    runner.kept |= {name: "01900000-0000-7000-8000-000000000000" for row in ROWS for name in row.keeps}
    runner.kept |= {
        f"{name}{number}": runner.kept[name] for row in ROWS for name in row.keeps for number in (1, 3)
    }
    runner.kept |= {"whole1": "{}"}
    for name in ("messages.json", *(f"{kind}1.jsonl" for kind in ("notes", "graph", "assistant", "all"))):
        (tmp_path / name).write_text('{"role": "user", "content": "I like tea.", "text": "tea"}\n')
    for row in ROWS:
        if row.needs_service:
            ended = runner.run(row, number=PLAIN)
            assert (ended.code, ended.err[:5]) == (3, "elf: "), (row.command, ended)
            assert "Traceback" not in ended.err
