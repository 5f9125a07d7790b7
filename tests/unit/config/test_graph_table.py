"""[graph]: what it is without a key, and what it takes."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from pydantic import ValidationError

from elf.config.tables.graph import GraphTable


def test_the_specs_defaults() -> None:
    table = GraphTable()
    assert (table.enabled, table.bulletin_mode, table.scope.cross_orchestrator) == (
        True,
        "every_message",
        False,
    )
    assert table.retrieval.model_dump() == {
        "top_n": 20, "rrf_k": 60, "top_k_vector": 50, "top_k_text": 50,
    }  # fmt: skip
    assert table.ingest.model_dump() == {"enabled": True, "max_file_size_mb": 25, "poll_interval_s": 30}
    assert table.auto_register is False


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("cross_orchestrator", "[scope]\ncross_orchestrator = true"),
        ("unknown", "unknown = 1"),
        ("bulletin_mode", 'bulletin_mode = "hourly"'),
        ("top_n", "[retrieval]\ntop_n = 0"),
        ("rrf_k", "[retrieval]\nrrf_k = 1.5"),
        ("max_file_size_mb", "[ingest]\nmax_file_size_mb = 0"),
        ("enabled", '[ingest]\nenabled = "yes"'),
        ("orchestrator_id", '[[orchestrators]]\norchestrator_id = "../up"'),
        ("tenant_id", '[[orchestrators]]\norchestrator_id = "a"\ntenant_id = ".hidden"'),
        ("two orchestrators are called default/a", '[[orchestrators]]\norchestrator_id = "a"\n' * 2),
        (
            "two orchestrators have the runtime_root /x",
            (
                '[[orchestrators]]\norchestrator_id = "a"\nruntime_root = "/x"\n'
                '[[orchestrators]]\norchestrator_id = "b"\nruntime_root = "/x"'
            ),
        ),
        (
            "shared_access to docs, which graph.shared_workspaces does not name",
            '[[orchestrators]]\norchestrator_id = "a"\nshared_access = ["docs"]',
        ),
    ],
)
def test_what_it_does_not_take_is_refused_by_its_key(key: str, text: str) -> None:
    with pytest.raises(ValidationError, match=key):
        GraphTable.model_validate(tomllib.loads(text))


def test_relative_folders_are_below_that_of_the_file() -> None:
    text = """
        root = "memories"
        shared_workspaces = {docs = "docs", all = "/srv/all"}
        [[orchestrators]]
        orchestrator_id = "a"
        runtime_root = "a"
        private_workspace = "/home/a"
        shared_access = ["docs"]
    """
    table = GraphTable.model_validate(tomllib.loads(text)).anchored(Path("/etc/elf"))
    one = table.orchestrator("default", "a")
    assert one is not None
    assert (table.root, table.shared_workspaces) == (
        "/etc/elf/memories",
        {"docs": "/etc/elf/docs", "all": "/srv/all"},
    )
    assert (one.runtime_root, one.private_workspace) == ("/etc/elf/a", "/home/a")
    assert table.orchestrator("other", "a") is None
