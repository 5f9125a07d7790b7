"""The client as it is installed: alone it works, says what it lacks, and has types that mypy can rely on."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.installed import REPO, Installed
from tests.system.service import RunningService

PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PROGRAM = REPO / "tests" / "data" / "client_program.py"
# How mypy writes JsonValue, at its first mention and inside itself.
JSON = re.compile(r"bool \| int \| float \| str \| list\[\.\.\.\] \| dict\[str, \.\.\.\] \| None")

CONVERSATION = """
import sys
from elf.client import Client, InvalidRequest, Message

with Client(sys.argv[1], tenant_id=sys.argv[2], project_id="p", agent_id="a", read_profile="all_scopes") as memory:
    added = memory.add_note("Fact: The kettle is blue.", source_ref={"chat": 3})
    event = memory.add_event([Message(role="user", content="I prefer tea to coffee.")], scope="agent_private")
    print(added.stored, [note.text for note in event.stored])
    print([note.source_ref for note in memory.list(scope="agent_private")][-1])
    try:
        memory.add_note("x", importance=7)
    except InvalidRequest as error:
        print(error)
"""

MEMORY = """
import sys
from elf import Memory

with Memory(sys.argv[1], user_id="ana-of-a-plain-install") as memory:
    memory.remember("I prefer tea to coffee.")
    print(memory.recall("What does the user like to drink?", families=["assistant"]).items[0].text)
"""


@pytest.fixture(scope="module")
def installed() -> Iterator[Installed]:
    with fresh_folder() as folder:
        yield Installed(folder)


def test_a_plain_install_is_the_client_and_few_packages(installed: Installed) -> None:
    site = next(installed.python.parent.parent.glob("lib/python*/site-packages"))
    packages = {path.name.partition("-")[0] for path in site.glob("*.dist-info")}
    assert packages <= {
        "anyio", "certifi", "elf_memory", "h11", "httpcore", "httpx", "idna", "msgspec", "typing_extensions",
    }  # fmt: skip
    assert (site / "elf" / "py.typed").is_file()


def test_alone_the_client_speaks_to_a_service(
    installed: Installed, service: RunningService, tenant: str
) -> None:
    done = installed.run("-c", CONVERSATION, service.url, tenant)
    assert done.stdout.splitlines() == [
        "True ['Preference: I prefer tea to coffee.']",
        "{'chat': 3}",
        "importance: should be less than or equal to 1",
    ], done.stderr


def test_a_service_of_one_s_own_says_what_to_install(installed: Installed) -> None:
    done = installed.run("-c", "import elf.client\nwith elf.client.local('x'): pass")
    assert re.search(
        r"StartupError: elf.client.local needs the service, and \w+ is not installed: "
        r"pip install 'elf-memory\[service\]'$",
        done.stderr.strip(),
    )


def test_the_package_is_light_and_a_memory_of_one_s_own_says_what_to_install(installed: Installed) -> None:
    done = installed.run(
        "-c", "import elf, sys; print('httpx' in sys.modules, 'Memory' in dir(elf)); elf.Memory()"
    )
    assert done.stdout == "False True\n"
    assert re.search(
        r"StartupError: elf.Memory needs the service, and \w+ is not installed: "
        r"pip install 'elf-memory\[service\]'$",
        done.stderr.strip(),
    )


def test_alone_a_memory_is_that_of_a_service(installed: Installed, service: RunningService) -> None:
    done = installed.run("-c", MEMORY, service.url)
    assert done.stdout == "User prefers tea to coffee.\n", done.stderr


@pytest.mark.parametrize("command", PROJECT["scripts"])
def test_a_command_says_what_to_install(installed: Installed, command: str) -> None:
    module, _, function = PROJECT["scripts"][command].partition(":")
    done = installed.run("-c", f"import sys; from {module} import {function} as run; sys.exit(run())")
    wanted = rf"{command} needs the service, and \w+ is not installed: pip install 'elf-memory\[service\]'\n"
    assert (done.returncode, bool(re.fullmatch(wanted, done.stderr))) == (3, True), done.stderr


def said_by_mypy(installed: Installed, folder: Path) -> dict[int, list[str]]:
    """Have mypy judge the program against what is installed there; return what it says of each line."""
    program = Path(shutil.copy(PROGRAM, folder))  # where it is, mypy would find this repository beside it
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--show-error-codes",
        "--no-pretty",
    ]
    command += [
        "--python-executable",
        str(installed.python),
        "--cache-dir",
        str(folder / "cache"),
        program.name,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=200)
    said: dict[int, list[str]] = {}
    for line in done.stdout.splitlines():
        if match := re.match(rf"{program.name}:(\d+): (?:error|note): (.*)", line):
            said.setdefault(int(match[1]), []).append(match[2])
    assert len(done.stdout.splitlines()) == sum(map(len, said.values())) + 1, done.stdout + done.stderr
    return said


def test_mypy_knows_every_result_and_finds_every_wrong_argument(installed: Installed, tmp_path: Path) -> None:
    said = said_by_mypy(installed, tmp_path)
    for number, line in enumerate(PROGRAM.read_text(encoding="utf-8").splitlines(), start=1):
        found = said.get(number, [])
        if wanted := re.search(r"# type: (.*)", line):
            assert [JSON.sub("JSON", one) for one in found] == [f'Revealed type is "{wanted[1]}"']
        elif wanted := re.search(r"# fault: (.*)", line):
            assert any(one.endswith(f"[{wanted[1]}]") for one in found), f"{line.strip()}: {found}"
        else:
            assert found == [], line
    assert "Any" not in str(said)
