"""The process `elf-mcp`: what it needs to start, what it says, and how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from mcp import Client

from actors.processes import mcp_process
from tests.fronts.mcp_kit import NAMES, elf_mcp, failure
from tests.system.service import REPO, write_config

pytestmark = pytest.mark.anyio

LIST = ("memory_list", {"tenant_id": "t", "project_id": "p"})


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A config whose http_bind is a port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return write_config(tmp_path, http_bind=f'"127.0.0.1:{port}"')


@contextmanager
def running(config: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`elf-mcp` over HTTP, and the address it says."""
    with subprocess.Popen(
        elf_mcp("-c", str(config)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPO
    ) as process:
        try:
            assert process.stdout is not None
            said = process.stdout.readline()
            assert said.startswith("elf-mcp: ready at http://"), said
            yield process, said.split()[-1]
        finally:
            process.kill()


async def test_over_http_it_serves_without_a_service_and_stops_when_told(config: Path) -> None:
    with running(config) as (process, url):
        async with Client(url) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == NAMES
            assert failure(await client.call_tool(*LIST))["error_code"] == "UNAVAILABLE"
        process.send_signal(signal.SIGTERM)
        said, logged = process.communicate(timeout=15)
        assert process.returncode == 0
    assert said == "elf: stopping (SIGTERM)\nelf: stopped\n"
    assert all(line.startswith("{") for line in logged.splitlines()), logged


def test_over_stdio_nothing_but_mcp_is_written_and_the_end_of_input_ends_it(config: Path) -> None:
    config.write_text(config.read_text().replace('log_level = "info"', 'log_level = "debug"'))
    result = subprocess.run(
        elf_mcp("-c", str(config), "--stdio"),
        input='this is no JSON\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        capture_output=True,
        text=True,
        timeout=30,
        cwd=REPO,
        env=os.environ | {"PYTHONWARNINGS": "always"},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert [line[:16] for line in result.stdout.splitlines()] == ['{"jsonrpc":"2.0"']


@pytest.mark.parametrize("arguments", [[], ["--stdio"]])
def test_a_faulty_config_is_named_in_one_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mcp_process.main(["-c", str(tmp_path / "none.toml"), *arguments]) == 2
    assert mcp_process.main(["-c", str(write_config(tmp_path)), *arguments]) == 2
    captured = capsys.readouterr()
    missing, unknown = captured.err.removeprefix("elf-mcp: ").split("elf-mcp: ")
    assert "there is no such file" in missing
    assert "service.http_bind: has port 0" in unknown
    assert captured.out == ""


def test_a_busy_port_is_named_with_its_key(
    config: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mcp_process, "start_log", lambda *_, **__: None)  # that of the tests stays
    with socket.create_server(("127.0.0.1", 0)) as busy:
        address = f"127.0.0.1:{busy.getsockname()[1]}"
        config.write_text(config.read_text().replace('mcp_bind = "127.0.0.1:0"', f'mcp_bind = "{address}"'))
        assert mcp_process.main(["-c", str(config)]) == 3
    said = capsys.readouterr().err
    assert said.startswith(f"elf-mcp: service.mcp_bind: cannot listen on {address}")
    assert "Traceback" not in said


def test_the_sdk_is_not_loaded_before_somebody_asks_for_mcp() -> None:
    code = "import sys, actors.system; sys.exit(sum(name.split('.')[0] == 'mcp' for name in sys.modules))"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=REPO, timeout=60)
