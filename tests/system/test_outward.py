"""What a service does beyond its folders and the addresses of its config: it looks no name up and leaves no file.

The library behind the packaged model, left to itself, looks its maker up a few seconds after it is loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.folders import fresh_folder
from tests.model_caches import linked_cache
from tests.system import secluded
from tests.system.service import REPO

HOLD_S = 15  # longer than until what would be sent is sent

LOOK_UP = "import socket, sys; sys.exit(socket.getaddrinfo('elf.example', 443) != [])"

WAIT = f"""
import time
from pathlib import Path
end = time.monotonic() + {HOLD_S}
while time.monotonic() < end and not Path("../names").exists():
    time.sleep(0.1)
"""

LOCAL = f"""
import sys
from elf.client import local
with local(sys.argv[1]) as memory:
    memory.add_note("Fact: Cats have nine lives.")
    assert memory.search("How many lives have cats?").items
    {WAIT.replace(chr(10), chr(10) + "    ")}
"""

UP = f"""
import sys
from pathlib import Path
from tests.system.service import RunningService, note, write_config
with RunningService(write_config(Path(sys.argv[1]))) as service:
    (added,) = service.add("t", note("Fact: Cats have nine lives."))
    service.wait_found("t", "lives of cats", added["note_id"])
    assert "elf_ready 1.0" in service.admin.get("/metrics").text
    hello = {{
        "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {{}},
    }}
    headers = {{"accept": "application/json, text/event-stream"}}
    assert service.client.post(service.mcp_url, json=hello, headers=headers).status_code == 200
    {WAIT.replace(chr(10), chr(10) + "    ")}
"""


class Place:
    """Empty folders for the home, the working directory and temporary files; one for the data, and a model cache."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.cache = cache
        self.data, self.names = folder / "data", folder / "names"
        self.empty = [folder / name for name in ("home", "here", "tmp")]
        for path in (self.data, *self.empty):
            path.mkdir()

    def run(self, program: str) -> subprocess.CompletedProcess[str]:
        """Run a Python program that is given the data folder, on a network that leads nowhere."""
        home, here, tmp = self.empty
        environment = {
            "PATH": os.environ["PATH"], "PYTHONPATH": str(REPO), "HOME": str(home), "TMPDIR": str(tmp),
            "XDG_CACHE_HOME": str(self.cache), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip
        python = [sys.executable, "-c", program, str(self.data)]
        result = subprocess.run(
            [sys.executable, secluded.__file__, str(self.names), *python],
            cwd=here, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        if result.returncode == secluded.CANNOT:
            pytest.skip("this system lets nobody make a network of their own")
        return result

    def looked_up(self) -> set[str]:
        """The names that anything has looked up."""
        return set(self.names.read_text().split()) if self.names.exists() else set()

    def left(self) -> list[Path]:
        """The files and folders that anything has left outside the data folder."""
        return [path for folder in self.empty for path in folder.rglob("*")]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    linked_cache(tmp_path / "elf")
    with fresh_folder() as folder:
        yield Place(folder, tmp_path)


pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="it takes Linux to have a network of one's own"
)


def test_a_look_up_would_be_seen(place: Place) -> None:
    assert "gaierror" in place.run(LOOK_UP).stderr
    assert place.looked_up() == {"elf.example"}


@pytest.mark.parametrize("program", [LOCAL, UP], ids=["elf.client.local", "elf up"])
def test_a_service_looks_nothing_up_and_leaves_nothing_outside_its_folder(place: Place, program: str) -> None:
    result = place.run(program)
    assert result.returncode == 0, result.stderr
    assert place.looked_up() == set()
    assert place.left() == []
