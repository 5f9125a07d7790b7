"""What is erased from the command line stays gone: of files that were dropped, their copies, and changed sources."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from elf.cli import main
from tests.folders import fresh_folder
from tests.system import planting
from tests.system.service import RunningService, wait_for, write_config

WORD = "xylographer"
Elf = Callable[..., Any]


@pytest.fixture
def own_service(model_folder: Path) -> Iterator[RunningService]:
    """A service of its own: all that it keeps is looked through."""
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"')) as service,
    ):
        yield service


def told(memory_id: str, content: str, user: str) -> dict[str, Any]:
    source = {"sourceType": "channel_transcript", "capturedBy": "user", "conversationId": user}
    return {
        "memoryId": memory_id, "type": "Fact", "importance": 50, "content": content, "summary": content,
        "confidence": 0.8, "source": source, "status": "active",
    }  # fmt: skip


@pytest.fixture
def elf(own_service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Elf:
    """Runs a command for a tenant that has to end well, and returns its answer."""
    urls = (("http", own_service.url), ("admin", own_service.admin_url), ("mcp", own_service.mcp_url))
    binds = {
        f"{name}_bind": json.dumps(url.removeprefix("http://").removesuffix("/mcp")) for name, url in urls
    }
    config = write_config(tmp_path, **binds)

    def run(tenant: str, *command: str, code: int = 0) -> Any:
        ended = main([*command, "-c", str(config), "--tenant", tenant, "--json"])
        said = capsys.readouterr()
        assert ended == code, (command, said)
        return json.loads(said.out)

    return run


def drop_twice(elf: Elf, tenant: str, memory: Path, text: str, *whose: str) -> None:
    """Drop a file, and drop it again, of which a copy is kept beside the first."""
    for name in ("told.json", "told.json.1"):
        (memory / "ingest" / "told.json").write_text(text)
        wait_for(
            lambda name=name: (
                elf(tenant, "graph", "ingest", *whose)  # type: ignore[misc]
                and (memory / "ingest" / "processed" / f"{name}.processed.json").exists()
            ),
            f"{name} is taken in",
        )


def test_an_erased_user_stays_gone_when_the_memory_is_recovered(
    own_service: RunningService, elf: Elf, tmp_path: Path
) -> None:
    user, tenant = "evelyn", "acme"
    planner = ("--agent", "planner")
    elf(tenant, "graph", "remember", "The office is in Lisbon.", "Fact", *planner)
    memory = own_service.config.parent / ".elf" / "graph" / tenant / "planner" / "memory"
    text = json.dumps(
        {
            "memories": [told("a", f"The {WORD} moved.", user), told("b", f"A {WORD} sings.", user)],
            "edges": [],
        }
    )
    drop_twice(elf, tenant, memory, text, *planner)
    elf(
        tenant, "graph", "update", "b", "--source", '{"sourceType": "manual", "capturedBy": "user"}', *planner
    )
    receipt = tmp_path / "receipt.json"
    erased = elf(tenant, "erase", "--user", user, "--yes", "--receipt", str(receipt))
    assert (erased["erased"]["graph"]["memories"], erased["erased"]["graph"]["files"]) == (2, 4)
    recovered = elf(tenant, "graph", "recover", *planner)
    assert (recovered["put_aside"], recovered["files"]) == ([], [])
    assert [one["content"] for one in elf(tenant, "graph", "list", "--status", "all", *planner)["items"]] == [
        "The office is in Lisbon."
    ]
    proof = elf(tenant, "erase", "--prove", str(receipt), "--user", user, "--text", WORD)
    assert (proof["proven"], proof["found"]) == (True, [])
    left = b"".join(path.read_bytes() for path in memory.rglob("*") if path.is_file())
    assert WORD.encode() not in left.lower()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("whose", ["user", "agent", "tenant"])
def test_what_is_erased_of_every_family_stays_gone_when_the_memory_is_recovered(
    own_service: RunningService, elf: Elf, tmp_path: Path, whose: str
) -> None:
    tenant, writer = planting.TENANT, ("--agent", "writer")
    gone, kept = planting.plant(own_service, agent="writer"), planting.plant(own_service)
    graphs = own_service.config.parent / ".elf" / "graph"
    memory = graphs / tenant / "writer" / "memory"
    contents = {"a": f"The harbour of {gone.word} froze.", "b": f"A ship left {gone.word}."}
    memories = [told(memory_id, content, gone.user) for memory_id, content in contents.items()]
    drop_twice(elf, tenant, memory, json.dumps({"memories": memories, "edges": []}), *writer)
    manual = '{"sourceType": "manual", "capturedBy": "user"}'
    elf(tenant, "graph", "update", "b", "--source", manual, *writer)
    assert planting.in_graphs(graphs, gone.needles)
    receipt = tmp_path / "receipt.json"
    named = {"user": ("--user", gone.user), "agent": ("--agent", "writer"), "tenant": ("--all",)}[whose]
    erased = elf(tenant, "erase", *named, "--yes", "--receipt", str(receipt))
    for family, counts in gone.counts.items():
        if whose != "agent" or family not in ("conversations", "store"):  # which keep things by users alone
            assert any(erased["erased"][family].get(kind) for kind in counts), family
    recovered = elf(tenant, "graph", "recover", *writer, code=0 if whose == "user" else 1)
    assert whose == "user" or recovered["error_code"] == "NOT_FOUND"  # the whole memory is gone
    texts = () if whose == "agent" else ("--text", gone.word)  # the user said the word in conversations, too
    proof = elf(tenant, "erase", "--prove", str(receipt), *named, *texts)
    assert (proof["proven"], proof["found"]) == (True, [])
    assert whose == "agent" or planting.in_tables(planting.dsn_of(own_service), [gone.word]) == {}
    assert planting.in_graphs(graphs, [gone.word]) == []
    left = elf(tenant, "graph", "list", "--status", "all", "--agent", kept.agent)["items"]
    assert any(kept.word in one["content"] for one in left) is (whose != "tenant")
    assert own_service.complaints() == []
