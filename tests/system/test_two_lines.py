"""A memory on a folder: the two lines of the README, what a later process and one beside it find, and its examples."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elf import AsyncMemory, Memory
from elf.client import StartupError
from elf.client.memory.verb import Verb
from elf.client.memory.verbs import Verbs
from tests.folders import fresh_folder
from tests.readme import blocks, section

pytestmark = pytest.mark.anyio

VERBS = {name: one for name, one in vars(Verbs).items() if isinstance(one, Verb)}
BESIDE = """
import sys
from elf import Memory

with Memory(sys.argv[1]) as memory:
    print(memory.recall("Which hot drink?", user_id="carol").items[0].text)
    memory.remember("I moved to Porto in May.", user_id="carol")
"""


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def memory(folder: Path) -> Iterator[Memory]:
    with Memory(folder) as memory:
        yield memory


def run(program: str, *arguments: str | Path, folder: Path | None = None) -> str:
    """Run a program in a process of its own, and return what it prints."""
    line = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, timeout=200)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_two_lines_of_the_readme_remember_on_an_empty_folder_and_a_new_process_recalls() -> None:
    install, first, later, printed, serve = blocks(section("Two lines"))
    languages = [block.language for block in (install, first, later, printed, serve)]
    assert languages == ["sh", "python", "python", "text", "sh"]  # tests/install types those of sh
    with fresh_folder() as folder:
        assert run(first.text, folder=folder) == ""
        assert run(later.text, folder=folder) == printed.text
        assert [path.name for path in folder.iterdir()] == ["elf-memory"]


def test_a_process_beside_it_finds_what_is_there_and_what_it_keeps_is_found(
    memory: Memory, folder: Path
) -> None:
    memory.remember("I prefer green tea to coffee.", user_id="carol")
    assert "green tea" in run(BESIDE, folder)
    assert "Porto" in memory.recall("Which city did I move to?", user_id="carol").items[0].text


def test_without_a_name_it_is_one_user_s(memory: Memory) -> None:
    memory.remember("I prefer tulips to roses.")
    assert {one["user_id"] for one in memory.get_all()["results"]} == {"local"}
    assert "tulips" in memory.recall("Which flowers?", user_id="local").items[0].text
    assert memory.within(user_id="dave").recall("Which flowers?").items == []


def test_every_verb_shows_itself_and_does_what_it_shows(memory: Memory) -> None:
    known: dict[str, Any] = {"memory": memory}
    runner = doctest.DocTestRunner()
    said: list[str] = []
    for name, one in VERBS.items():
        shown = doctest.DocTestParser().get_doctest(one.does.__doc__ or "", known, name, None, None)
        assert any(f"memory.{name}(" in example.source for example in shown.examples)
        runner.run(shown, out=said.append, clear_globs=False)
        known = shown.globs
    assert said == []


@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_what_keeps_it_from_starting_is_told_with_the_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(StartupError, match="cannot be made"):
        Memory(file / "below")
    with pytest.raises(StartupError, match="cannot be made"):
        await AsyncMemory(file / "below").recall("tea?")


async def test_an_async_memory_runs_on_a_folder_too(memory: Memory, folder: Path) -> None:
    memory.remember("I prefer cats to dogs.", user_id="erin")
    async with AsyncMemory(folder, user_id="erin") as beside:
        assert "cats" in (await beside.recall("Which pets?")).items[0].text
        assert "cats" in (await beside.get_all())["results"][0]["memory"]
    async with AsyncMemory(folder) as beside:
        assert (await beside.get_all())["results"] == memory.get_all()["results"]
