"""A service whose embedding model changes, and searches while its memories move to the new one."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self

import httpx

from tests.system.fake_chat import FakeChat, running_chat
from tests.system.fake_model import embed, point_embedding
from tests.system.service import RunningService, wait_for, write_config

TENANT: Final = "moved"
BATCH: Final = 200
OLD: Final = "local"
NEW: Final = "another"
PLACES: Final = ("harbour", "station", "library", "market", "bridge", "mill", "tower")


def content_of(number: int) -> str:
    return f"opens at {number} near the {PLACES[number % len(PLACES)]}"


def fact_of(number: int) -> dict[str, str]:
    return {"subject": f"shop {number}", "predicate": "hours", "content": content_of(number)}


@contextmanager
def moving_service(folder: Path) -> Iterator[tuple[RunningService, FakeChat]]:
    """A service whose model is a scripted one behind a real socket."""
    with running_chat() as model:
        model.script(embed)
        config = write_config(folder)
        point_embedding(config, model.api_base)
        with RunningService(config) as service:
            yield service, model


def change_model(service: RunningService, provider: str) -> None:
    """Have the config name another provider of the model, which makes it another model, and start again."""
    service.stop()
    text = service.config.read_text(encoding="utf-8")
    head, table, rest = text.partition("[providers.embedding]\n")
    rest = rest.replace(f'provider_id = "{OLD}"', f'provider_id = "{provider}"', 1)
    service.config.write_text(head + table + rest, encoding="utf-8")
    service.start()


def ask(service: RunningService, path: str, **body: Any) -> Any:
    answer = httpx.post(f"{service.url}/v1/knowledge/{path}", json={"tenant_id": TENANT, **body}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


def store(service: RunningService, rows: int) -> None:
    for start in range(0, rows, BATCH):
        items = [fact_of(number) for number in range(start, min(rows, start + BATCH))]
        ask(service, "facts/batch", items=items)


def reembed(service: RunningService, *, dry_run: bool) -> Any:
    answer = httpx.post(
        f"{service.admin_url}/v1/admin/knowledge/reembed",
        json={"tenant_id": TENANT, "dry_run": dry_run},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


@dataclass
class Searches:
    """Searches on and on in a thread; a context manager. `faults` are answers in which two models met."""

    service: RunningService
    version: str
    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._search)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _search(self) -> None:
        number = 0
        while not self._done.is_set():
            number += 1
            query = f"which shop {content_of(number)}"
            found = ask(self.service, "search", query=query, types=["fact"], limit=10)
            self.counts["searches"] += 1
            for item in found["items"]:
                by_meaning = item["semantic_rank"] is not None
                self.counts["by meaning" if by_meaning else "by words alone"] += 1
                if by_meaning and item["embedding_version"] != self.version:
                    self.faults.append(f"a vector of {item['embedding_version']} met one of {self.version}")


def version_of(provider: str) -> str:
    return f"{provider}:all-MiniLM-L6-v2:384"


def moved(
    service: RunningService, rows: int, *, killed_at: int | None = None, timeout_s: float = 60.0
) -> Searches:
    """Move all memories while searches run; the service is killed when so many are left. Returns the searches."""
    searches = Searches(service, version_of(NEW))

    def left() -> int:
        return int(reembed(service, dry_run=True)["outdated"]["fact"])

    assert left() == rows
    with searches:
        assert reembed(service, dry_run=False)["running"]
        if killed_at is None:
            wait_for(lambda: left() == 0, "all are moved", timeout_s=timeout_s)
        else:
            wait_for(lambda: left() <= killed_at, "some are moved", timeout_s=timeout_s)
    if killed_at is not None:
        service.kill()
        service.start()
        with Searches(service, version_of(NEW), searches.counts, searches.faults):
            wait_for(lambda: left() == 0, "the others are moved", timeout_s=timeout_s)
    return searches
