"""gRPC of a real service: at one address of all its processes, and of nobody else."""

from __future__ import annotations

import socket
from pathlib import Path

import grpc
import httpx
from google.protobuf.empty_pb2 import Empty

from actors.fronts.http_front import bound_address
from elf.families.conversations.grpc.memory_service_pb2_grpc import SystemServiceStub
from tests.metrics_kit import Page
from tests.system.fork_server import run_elf
from tests.system.service import RunningService, write_config
from tests.system.several import SeveralProcesses, split

CALLS = 40
OWN = [("grpc.use_local_subchannel_pool", 1)]  # a connection for each channel


def test_all_api_processes_answer_at_one_address(tmp_path: Path) -> None:
    config = split(write_config(tmp_path), "api = 2\nworker = 0\nmcp = 1\n")
    with SeveralProcesses(config) as service:
        for _ in range(CALLS):
            with grpc.insecure_channel(service.grpc_address, options=OWN) as channel:
                assert SystemServiceStub(channel).GetHealth(Empty(), wait_for_ready=True).status == "ok"
        counts = [calls_of(service, name) for name in ("api-1", "api-2")]
        assert sum(counts) == CALLS
        assert all(counts)
        assert service.complaints() == []


def calls_of(service: RunningService, process: str) -> float:
    """Return how many calls a process has answered."""
    (line,) = service.events("admin_address", process=process)
    page = Page(httpx.get(f"http://{line['address']}/metrics").text)
    method = "/memory.v1.SystemService/GetHealth"
    return page.value("elf_grpc_calls_total", front="grpc_front", method=method, code="OK")


def test_a_port_at_which_somebody_listens_is_named_with_its_key(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as foreign:
        address = bound_address(foreign)
        config = write_config(tmp_path, grpc_bind=f'"{address}"')
        done = run_elf("up", "-c", config)
    assert done.returncode == 3
    assert f"elf: service.grpc_bind: cannot listen on {address}" in done.stderr


def test_without_an_address_no_grpc_is_served(tmp_path: Path) -> None:
    config = write_config(tmp_path)
    text = "".join(
        line for line in config.read_text().splitlines(keepends=True) if not line.startswith("grpc_bind")
    )
    config.write_text(text)
    with RunningService(config) as service:
        parts = {part["name"] for part in service.client.get("/ready").json()["parts"]}
        assert "grpc_front" not in parts
        assert service.client.get("/v1/health").json() == {"status": "ok"}
