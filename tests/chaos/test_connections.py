"""Many connections to a service that may have few descriptors: `ops/chaos/connections.py`, made short."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.folders import fresh_folder
from tests.system.service import REPO, RunningService, up_command, wait_for, write_config

DESCRIPTORS = 400
SHORT = ["--seconds", "5", "--crowd", "150", "--crowd-seconds", "0.5"]


@pytest.fixture
def starved(model_folder: Path) -> Iterator[RunningService]:
    """A service that may not have more than so many descriptors open."""
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        limited = ["sh", "-c", f'ulimit -n {DESCRIPTORS}; exec "$@"', "sh", *up_command(config)]
        with RunningService(config, command=limited) as service:
            yield service


def test_clients_are_served_whatever_connections_others_make(starved: RunningService, tmp_path: Path) -> None:
    places = {"http_bind": starved.url, "admin_bind": starved.admin_url, "mcp_bind": starved.mcp_url}
    config = write_config(tmp_path, **{key: f'"{urlsplit(url).netloc}"' for key, url in places.items()})
    script = [sys.executable, str(REPO / "ops" / "chaos" / "connections.py"), "-c", str(config), *SHORT]
    result = subprocess.run(script, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("{'200': ") == 5
    wait_for(
        lambda: open_connections(starved) == {"http_front": 0, "admin_front": 1, "mcp_front": 0}, "all end"
    )
    assert {event["displaced"] > 0 for event in starved.events("connections_short")} == {True}
    assert not starved.complaints()


def open_connections(service: RunningService) -> dict[str, int]:
    lines = service.admin.get("/metrics").text.splitlines()
    found = [line for line in lines if line.startswith("elf_connections{")]
    return {line.split('"')[1]: int(float(line.split()[-1])) for line in found}
