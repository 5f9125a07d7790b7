#!/usr/bin/env python3
"""Take the model and the files of memories away from a running service; prove that the others notice nothing.

    python -m ops.chaos.graph_failures [--seconds 30]

First the embedding model does not answer for so long: what is written in the meantime is found by its words, and has
its vector by itself afterwards. Then the memory.db of one orchestrator after the other is overwritten with text, cut in
half or removed, some while it is open and some while the service is down: its memory is disabled, with the last
bulletin, and the memories of the others and the service are well. Exits with 1 at the first thing that should not be.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from elf.config import load
from elf.config.tables.graph import GraphTable
from tests.folders import fresh_folder
from tests.system.fake_model import point_embedding
from tests.system.misbehaviour import MisbehavingModel, embeds, running_model
from tests.system.service import RunningService, wait_for, write_config

TENANT: Final = "chaos"
WELL: Final = "well"
DRAINED_WITHIN_S: Final = 120.0


def overwrite(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(b"This is no database. " * (database.stat().st_size // 21 + 1))


def halve(database: Path) -> None:
    os.truncate(database, database.stat().st_size // 2)


DAMAGES: Final[Mapping[str, Callable[[Path], None]]] = {
    "overwritten": overwrite, "halved": halve, "removed": Path.unlink,
}  # fmt: skip


class Siege:
    """Asks a service, and sees that each answer is as it should be."""

    def __init__(self, service: RunningService) -> None:
        self._service = service
        self._root = Path(load(service.config).of(GraphTable).root)
        self._written = 0

    def database(self, orchestrator: str) -> Path:
        return self._root / TENANT / orchestrator / "memory" / "memory.db"

    def ask(self, path: str, orchestrator: str, status: int = 200, **body: Any) -> Any:
        whose = {"tenant_id": TENANT, "orchestrator_id": orchestrator}
        answer = self._service.client.post(f"/v1/graph/{path}", json={**whose, **body})
        assert answer.status_code == status, f"{path}: {answer.status_code} {answer.text}"
        return answer.json()

    def status(self, orchestrator: str) -> Any:
        whose = {"tenant_id": TENANT, "orchestrator_id": orchestrator}
        return self._service.client.get("/v1/graph/status", params=whose).raise_for_status().json()

    def write(self, orchestrator: str) -> str:
        """Write a goal, see that it is found, and return its id."""
        self._written += 1
        told = {
            "memoryId": f"m-{self._written}", "type": "Goal", "importance": 50, "confidence": 0.9,
            "content": f"Close ticket {self._written} of the office.",
            "source": {"sourceType": "manual", "capturedBy": "user"},
        }  # fmt: skip
        self.ask("memories", orchestrator, memories=[told])
        found = self.ask("recall", orchestrator, query=f"ticket {self._written}", top_n=100)
        ids = {one["memory"]["memoryId"] for one in found["nodes"]}
        assert told["memoryId"] in ids, f"{told['memoryId']} is not among {sorted(ids)}"
        return str(found["mode"])

    def bulletin(self, orchestrator: str, message_id: str) -> Any:
        return self.ask(
            "context", orchestrator, purpose="selector", message_id=message_id, message="the office"
        )

    def see_well(self) -> None:
        """See that another memory and the service are well."""
        self.write(WELL)
        self._service.client.get("/ready").raise_for_status()

    def see_disabled(self, orchestrator: str) -> None:
        """See that a memory says that it is damaged, and has its last bulletin all the same."""
        for path, body in (("recall", {"query": "office"}), ("memories/m-1/retract", {})):
            error = self.ask(path, orchestrator, 503, **body)
            assert error["error_code"] == "memory_db_corrupt", error
        context = self.bulletin(orchestrator, "after")
        assert (context["status"], context["bulletin"]["status"]) == ("disabled", "previous"), context
        assert context["bulletin"]["citations"], context
        assert self.status(orchestrator)["error_code"] == "memory_db_corrupt"


def without_model(siege: Siege, model: MisbehavingModel, seconds: float) -> None:
    """Take the model away for so long."""
    siege.see_well()
    model.misbehave(lambda _, wire: wire.reset())
    end, modes = time.monotonic() + seconds, []
    while time.monotonic() < end:
        modes.append(siege.write(WELL))
        time.sleep(0.05)
    assert modes[-1] == "full_text_only", modes[-1]
    waiting = siege.status(WELL)["counts"]["vectors_to_make"]
    assert waiting > 0, "the model was away, and vectors were made"
    model.behave()
    began = time.monotonic()
    wait_for(
        lambda: not siege.status(WELL)["counts"]["vectors_to_make"],
        "vectors are made",
        timeout_s=DRAINED_WITHIN_S,
    )
    drained = time.monotonic() - began
    wait_for(lambda: siege.write(WELL) == "hybrid", "recalls go by meaning", timeout_s=DRAINED_WITHIN_S)
    print(
        f"{len(modes)} writes and recalls in {seconds:.0f} s without the model, {modes.count('full_text_only')} of"
        f" these by words only; {waiting} vectors made within {drained:.1f} s afterwards"
    )


def damaged(siege: Siege, service: RunningService) -> None:
    """Damage files while they are open, and while nobody serves."""
    for name in DAMAGES:
        for moment in ("open", "closed"):
            siege.write(f"{name}-{moment}")
            siege.bulletin(f"{name}-{moment}", "before")
    for name, damage in DAMAGES.items():
        damage(siege.database(f"{name}-open"))
        siege.see_disabled(f"{name}-open")
        siege.see_well()
        print(f"{name} while it was open: disabled at once, the others and the service well")
    service.stop()
    closed = {
        name: damage for name, damage in DAMAGES.items() if name != "removed"
    }  # a new one is made of none
    for name, damage in closed.items():
        damage(siege.database(f"{name}-closed"))
    service.start()
    for name in closed:
        siege.see_disabled(f"{name}-closed")
        siege.see_well()
        print(f"{name} before the start: disabled, the others and the service well")


def main() -> int:
    """Take away, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=30.0, help="how long the model is away (30)")
    options = parser.parse_args()
    with fresh_folder() as folder, running_model(embeds) as model:
        config = write_config(folder)
        point_embedding(config, model.api_base)
        with RunningService(config) as service:
            siege = Siege(service)
            try:
                without_model(siege, model, options.seconds)
                damaged(siege, service)
            except AssertionError as fault:
                print(f"FAULT {fault}", file=sys.stderr)
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
