"""What is erased from the command line stays gone: of files that were dropped, their copies, and changed sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elf.cli import main
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for, write_config

WORD = "xylographer"


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


def test_an_erased_user_stays_gone_when_the_memory_is_recovered(
    own_service: RunningService, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user, tenant = "evelyn", "acme"
    urls = (("http", own_service.url), ("admin", own_service.admin_url), ("mcp", own_service.mcp_url))
    binds = {
        f"{name}_bind": json.dumps(url.removeprefix("http://").removesuffix("/mcp")) for name, url in urls
    }
    config = write_config(tmp_path, **binds)

    def elf(*command: str) -> Any:
        code = main([*command, "-c", str(config), "--tenant", tenant, "--json"])
        said = capsys.readouterr()
        assert code == 0, (command, said)
        return json.loads(said.out)

    planner = ("--agent", "planner")
    elf("graph", "remember", "The office is in Lisbon.", "Fact", *planner)
    memory = own_service.config.parent / ".elf" / "graph" / tenant / "planner" / "memory"
    text = json.dumps(
        {
            "memories": [told("a", f"The {WORD} moved.", user), told("b", f"A {WORD} sings.", user)],
            "edges": [],
        }
    )
    for name in ("told.json", "told.json.1"):
        (memory / "ingest" / "told.json").write_text(text)
        wait_for(
            lambda name=name: (
                elf("graph", "ingest", *planner)  # type: ignore[misc]
                and (memory / "ingest" / "processed" / f"{name}.processed.json").exists()
            ),
            f"{name} is taken in",
        )
    elf("graph", "update", "b", "--source", '{"sourceType": "manual", "capturedBy": "user"}', *planner)
    receipt = tmp_path / "receipt.json"
    erased = elf("erase", "--user", user, "--yes", "--receipt", str(receipt))
    assert (erased["erased"]["graph"]["memories"], erased["erased"]["graph"]["files"]) == (2, 4)
    recovered = elf("graph", "recover", *planner)
    assert (recovered["put_aside"], recovered["files"]) == ([], [])
    assert [one["content"] for one in elf("graph", "list", "--status", "all", *planner)["items"]] == [
        "The office is in Lisbon."
    ]
    proof = elf("erase", "--prove", str(receipt), "--user", user, "--text", WORD)
    assert (proof["proven"], proof["found"]) == (True, [])
    left = b"".join(path.read_bytes() for path in memory.rglob("*") if path.is_file())
    assert WORD.encode() not in left.lower()
