"""A service whose embedding model misbehaves while notes are written, and what must be true of them."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Final

from tests.system.misbehaviour import WAYS, MisbehavingModel
from tests.system.service import RunningService, add_body, note, search_body
from tests.system.truth import assert_all_there

MB: Final = 1e6
FACTS: Final = (
    "The ferry leaves the harbour at noon.",
    "Our cat sleeps beside the stove.",
    "Violin practice begins at midnight.",
    "Rye bread is baked on Thursdays.",
    "The north gate is closed in winter.",
)


class Memory:
    """By how much a service's memory was ever larger than when this was made."""

    def __init__(self, service: RunningService) -> None:
        self._process = Path(f"/proc/{service.process.pid}")
        self._calm_bytes = self._bytes("VmRSS")
        self.forget_peak()

    @property
    def growth_mb(self) -> float:
        return (self._bytes("VmHWM") - self._calm_bytes) / MB

    def forget_peak(self) -> None:
        """Look only at what comes from now on; the size to compare with stays."""
        (self._process / "clear_refs").write_text("5")

    def _bytes(self, name: str) -> int:
        lines = (self._process / "status").read_text().splitlines()
        (line,) = (line for line in lines if line.startswith(f"{name}:"))
        return int(line.split()[1]) * 1024


class Siege:
    """Endures ways of misbehaving one after the other; `notes` are those that it wrote and found again."""

    def __init__(self, service: RunningService, model: MisbehavingModel) -> None:
        self.service = service
        self.notes = 0
        self._model = model
        self._numbers = count()
        # Once before, so that what grows afterwards grows for another reason.
        self._hold("well")
        self._memory = Memory(service)

    @property
    def growth_mb(self) -> float:
        """By how much the service's memory was ever larger during the last siege than before the first."""
        return self._memory.growth_mb

    def endure(self, way: str) -> None:
        """Write while the model misbehaves in this way, let it recover, and check that every note is there.

        Raises AssertionError at the first write that is not acknowledged as a new note, and for every note that is not
        listed as written, not indexed, or not found by its own text.
        """
        self._memory.forget_peak()
        self._model.misbehave(WAYS[way])
        try:
            self._hold(way)
        finally:
            self._model.behave()

    def _hold(self, way: str) -> None:
        tenant = f"tenant-{next(self._numbers)}"
        together = self._write(tenant, *FACTS[:3])
        one_by_one = [self._write(tenant, text) for text in FACTS[3:]]
        response = self.service.post("search", search_body(tenant, "When does the ferry leave?"))
        assert response.status_code == 200, response.text
        assert self._model.asked > 0, f"the model was not asked: {way}"
        self._model.behave()
        written = together | one_by_one[0] | one_by_one[1]
        assert len(written) == len(FACTS)
        assert_all_there(self.service, tenant, written)
        self.notes += len(written)

    def _write(self, tenant: str, *texts: str) -> dict[str, str]:
        response = self.service.post("add_note", add_body(tenant, *(note(text) for text in texts)))
        assert response.status_code == 200, response.text
        results = response.json()["results"]
        assert [result["op"] for result in results] == ["ADD"] * len(texts), results
        return {result["note_id"]: text for result, text in zip(results, texts, strict=True)}
