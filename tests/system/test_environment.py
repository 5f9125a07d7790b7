"""A service in an environment that leads everything elsewhere: only its config says what it does."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.hostile_environment import hostile_variables
from tests.system.service import REPO, RunningService, note, write_config


@pytest.fixture
def hostile(tmp_path: Path) -> Mapping[str, str]:
    return os.environ | hostile_variables(tmp_path)


@pytest.fixture
def config(model_folder: Path) -> Iterator[Path]:
    with fresh_folder() as folder:
        yield write_config(folder, cache_dir=f'"{model_folder}"')


def test_it_starts_works_and_is_found_whatever_the_environment_says(
    config: Path, hostile: Mapping[str, str]
) -> None:
    with RunningService(config, environment=hostile) as service:
        (added,) = service.add("t", note("Fact: Cats have nine lives."))
        service.wait_found("t", "lives of cats", added["note_id"])
        assert "elf_ready 1.0" in service.admin.get("/metrics").text
        assert service.post("search", {"query": []}).status_code == 400  # no page for developers
        where = config.read_text().replace('http_bind = "127.0.0.1:0"', f'http_bind = "{service.url[7:]}"')
        config.write_text(where)
        place = ["-c", str(config), "--tenant", "t", "--project", "p", "--agent", "a"]
        told = run_elf(["search", "lives of cats", *place], hostile)
        assert "Cats have nine lives" in told.stdout, told.stderr
    assert not service.complaints()


def test_a_config_is_checked_whatever_the_environment_says(config: Path, hostile: Mapping[str, str]) -> None:
    result = run_elf(["check", "-c", str(config)], hostile)
    assert result.returncode == 0, result.stderr
    bad = config.read_text().replace("embedded:.elf/postgres", "postgresql://elf@db/elf?service=elsewhere")
    config.write_text(bad)
    result = run_elf(["check", "-c", str(config)], hostile)
    assert result.returncode == 2
    assert "storage.postgres.dsn: must say everything itself: service would have it read" in result.stderr


def run_elf(arguments: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "elf", *arguments]
    return subprocess.run(command, env=environment, cwd=REPO, capture_output=True, text=True, check=False)
