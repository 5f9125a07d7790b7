"""A service that cannot start says why in one line, exits with the code for it, and leaves nothing behind."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.system.fork_server import run_elf
from tests.system.service import processes_of, write_config
from tests.system.several import split

USAGE = 2
UNAVAILABLE = 3
START_TIMEOUT_S = 60.0


@pytest.fixture
def folder() -> Iterator[Path]:
    with fresh_folder() as folder:
        yield folder


@pytest.fixture
def config(folder: Path, model_folder: Path) -> Callable[..., Path]:
    """Write a config into the test's folder, with some lines changed."""

    def write(**changes: str) -> Path:
        return write_config(folder, **{"cache_dir": f'"{model_folder}"'} | changes)

    return write


def refusal(config: Path, *, code: int) -> str:
    """Run `elf up`, which must fail with this code, and return the line for people."""
    try:
        result = run_elf("up", "-c", config, timeout=START_TIMEOUT_S)
    finally:
        left = processes_of(config.parent)
        for process in left:
            process.kill()
    assert result.returncode == code, result.stderr
    assert "ready" not in result.stdout
    said = [line for line in result.stderr.splitlines() if not line.startswith("{")]
    assert said[0].startswith("elf: "), result.stderr
    assert "Traceback" not in result.stderr
    assert '"exception"' not in result.stderr
    assert left == []
    return "\n".join(said)


def test_a_busy_port_is_named_with_its_key_before_anything_is_started(config: Callable[..., Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        path = config(http_bind=f'"{address}"')
        message = refusal(path, code=UNAVAILABLE)
    assert "service.http_bind" in message
    assert address in message
    assert [entry.name for entry in path.parent.iterdir()] == ["elf.toml"]


@pytest.mark.parametrize(
    ("key", "value", "named"),
    [
        ("dsn", "embedded:{folder}/file/postgres", "file/postgres"),
        ("dsn", "embedded:/proc/elf/postgres", "/proc/elf"),
        ("url", "edge:{folder}/file/index", "file/index"),
        ("cache_dir", "/proc/elf/model", "/proc/elf/model"),
    ],
)
def test_a_folder_that_cannot_be_written_is_named(
    config: Callable[..., Path], folder: Path, key: str, value: str, named: str
) -> None:
    (folder / "file").write_text("a file, not a folder")
    message = refusal(config(**{key: f'"{value.format(folder=folder)}"'}), code=UNAVAILABLE)
    assert named in message
    assert (folder / "file").read_text() == "a file, not a folder"


@pytest.mark.parametrize(("key", "scheme"), [("dsn", "embedded"), ("url", "edge")])
def test_a_folder_that_holds_something_else_is_named_and_left_as_it_is(
    config: Callable[..., Path], folder: Path, key: str, scheme: str
) -> None:
    theirs = folder / "theirs"
    (theirs / "shard").mkdir(parents=True)
    (theirs / "diary.txt").write_text("mine")
    (theirs / "shard" / "pot.txt").write_text("mine, too")
    message = refusal(config(**{key: f'"{scheme}:{theirs}"'}), code=UNAVAILABLE)
    assert str(theirs) in message
    assert "diary.txt" in message
    assert {path.name for path in theirs.rglob("*")} == {"diary.txt", "shard", "pot.txt"}


def test_addresses_of_unknown_kinds_are_all_named_with_their_keys(config: Callable[..., Path]) -> None:
    path = config(dsn='"sqlite:notes.db"', url='"redis://127.0.0.1"', http_bind='"127.0.0.1"')
    message = refusal(path, code=USAGE)
    assert "storage.postgres.dsn" in message
    assert "storage.qdrant.url" in message
    assert "service.http_bind" in message
    assert [entry.name for entry in path.parent.iterdir()] == ["elf.toml"]


@pytest.mark.parametrize("cut", ["[memory]", "evidence_max_quotes"])
def test_a_half_written_config_is_named(config: Callable[..., Path], cut: str) -> None:
    path = config()
    text = path.read_text(encoding="utf-8")
    path.write_text(text[: text.index(cut)], encoding="utf-8")
    assert str(path) in refusal(path, code=USAGE)
    assert [entry.name for entry in path.parent.iterdir()] == ["elf.toml"]


def test_a_busy_port_of_several_processes_is_named_before_any_is_started(config: Callable[..., Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        path = split(config(admin_bind=f'"127.0.0.1:{busy.getsockname()[1]}"'))
        message = refusal(path, code=UNAVAILABLE)
    assert "service.admin_bind" in message
    assert [entry.name for entry in path.parent.iterdir()] == ["elf.toml"]


def test_a_process_that_cannot_start_says_why_and_ends_the_others(
    config: Callable[..., Path], folder: Path
) -> None:
    (folder / "file").write_text("a file, not a folder")
    path = split(config(dsn=f'"embedded:{folder}/file/postgres"'), "api = 0")
    first, last = refusal(path, code=UNAVAILABLE).splitlines()
    assert first.startswith("elf: worker: ")
    assert "file/postgres" in first
    assert last == "elf: the process worker cannot be started (exit code 3)"
