"""A real service of several processes: its config, commands that join it, and ways to single out a process."""

from __future__ import annotations

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx

from tests.system.fork_server import fork_server
from tests.system.service import RunningService, wait_for


def split(config: Path, table: str = "") -> Path:
    """Give a config the [processes] that the example shows in comments, or these."""
    before, _, shown = config.read_text(encoding="utf-8").partition("# [processes]\n")
    text = table or re.sub(r"(?m)^# ?", "", shown)
    config.write_text(f"{before}[processes]\n{text}\n", encoding="utf-8")
    return config


@contextmanager
def command(role: str, config: Path) -> Iterator[str]:
    """Run `elf-api` or `elf-worker`, which must end well, and give what it says when it is ready."""
    program = f"elf.commands:elf_{role}"
    with (config.parent / f"{role}.log").open("ab") as log:
        process = fork_server().start(program, "-c", config, stdout=subprocess.PIPE, stderr=log)
    with process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode()
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0
        finally:
            process.kill()


class SeveralProcesses(RunningService):
    """A service of several processes."""

    start_timeout_s = 150.0  # many processes start at once, maybe on a busy machine

    def pid(self, name: str) -> int:
        """The process of that name, the one that was started last."""
        return int(self.events("process_started", process=name)[-1]["pid"])

    def parts(self, name: str) -> set[str]:
        """The parts that the admin front of a process tells of."""
        (line,) = self.events("admin_address", process=name)
        body = httpx.get(f"http://{line['address']}/ready").json()
        assert body["process"] == name
        return {part["name"] for part in body["parts"]}

    @contextmanager
    def connected(self, name: str) -> Iterator[httpx.Client]:
        """A client whose one connection leads to the process of that name, as /ready says."""

        def connect() -> httpx.Client | None:
            client = httpx.Client(base_url=self.url, timeout=30.0)
            if client.get("/ready").json()["process"] == name:
                return client
            client.close()
            return None

        client = wait_for(connect, f"a connection leads to {name}")
        with closing(client):
            yield client

    def wait_restarted(self, name: str, *, times: int) -> None:
        """Wait until a process has come up so many times."""
        wait_for(
            lambda: len(self.events("process_ready", process=name)) >= times,
            f"{name} is ready for the {times}. time",
        )
