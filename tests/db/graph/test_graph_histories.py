"""Random histories of a memory, compared with a model: what was erased never comes back, what is valid never goes, and
what is withdrawn is in no answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from elf.db.database import Database
from tests.db.graph.house import House, eventually, fact, house_at
from tests.db.graph.ingest_kit import json_file, told

pytestmark = pytest.mark.anyio
HISTORIES = 100
STEPS = 14
TABLE = """
[graph.retrieval]
top_k_vector = 0
[graph.shared_workspaces]
docs = "docs"
[[graph.orchestrators]]
tenant_id = "acme"
orchestrator_id = "planner"
"""


@dataclass
class Version:
    """What a memory was: the word that only it says, and where it was from."""

    word: str
    conversation: str | None = None
    is_of_docs: bool = False


@dataclass
class Known:
    """A memory as the model knows it."""

    versions: list[Version]
    status: str = "active"

    @property
    def now(self) -> Version:
        return self.versions[-1]


@dataclass
class Model:
    """What there should be, and the words that nobody may ever see again."""

    memories: dict[str, Known] = field(default_factory=dict)
    erased: set[str] = field(default_factory=set)
    is_withdrawn: bool = False

    def shown(self) -> dict[str, Known]:
        return {
            id: one for id, one in self.memories.items() if not (self.is_withdrawn and one.now.is_of_docs)
        }

    def unseen(self) -> set[str]:
        """The words that no answer may have."""
        hidden = {
            version.word
            for one in self.memories.values()
            for version in one.versions
            if self.is_withdrawn and version.is_of_docs
        }
        shown = {
            version.word
            for one in self.shown().values()
            for version in one.versions
            if not version.is_of_docs
        }
        return self.erased | (hidden - shown)

    def erase(self, memory_id: str) -> None:
        self.erased |= {version.word for version in self.memories.pop(memory_id).versions}

    def erase_conversation(self, conversation: str) -> None:
        for id, one in [*self.memories.items()]:
            words = {version.word for version in one.versions if version.conversation == conversation}
            if one.now.word in words:
                self.erase(id)
            elif words:
                one.versions = [version for version in one.versions if version.word not in words]
                self.erased |= words


class History:
    """Does one thing after another, and compares after each."""

    def __init__(self, seed: int, database: Database, folder: Path) -> None:
        self.chance = random.Random(seed)
        self.database = database
        self.folder = folder
        self.model = Model()
        self.numbers = iter(range(10**6))
        self.files: dict[str, str] = {}
        (folder / "docs").mkdir()
        (folder / "docs" / "a.txt").touch()
        self.house: House

    def word(self) -> str:
        return f"zq{next(self.numbers)}x"

    def source(self, version: Version) -> dict[str, Any]:
        if version.is_of_docs:
            path = str(self.folder / "docs" / "a.txt")
            return {"sourceType": "manual", "capturedBy": "user", "sourcePath": path}
        if version.conversation is not None:
            return {
                "sourceType": "channel_transcript", "capturedBy": "user", "conversationId": version.conversation,
            }  # fmt: skip
        return {"sourceType": "manual", "capturedBy": "user"}

    def version(self, word: str | None = None) -> Version:
        """Return what a memory comes to be: of a conversation, of a shared file, or of neither."""
        kind = self.chance.choice(["c1", "c2", "docs", "none"])
        if kind == "docs" and not self.model.is_withdrawn:
            return Version(word or self.word(), is_of_docs=True)
        return Version(word or self.word(), kind if kind.startswith("c") else None)

    async def run(self) -> None:
        steps = [self.choose() for _ in range(STEPS)]
        while steps:
            shared = "" if self.model.is_withdrawn else 'shared_access = ["docs"]\n'
            async with house_at(self.database, self.folder, TABLE + shared) as self.house:
                while steps:
                    step = steps.pop(0)
                    if step in ("restart", "withdraw"):
                        self.model.is_withdrawn ^= step == "withdraw"
                        break
                    await getattr(self, step)()
                    await self.compare(step)
                else:
                    await self.recover()
                    await self.compare("end")

    def choose(self) -> str:
        weights = {
            "write": 3, "drop": 2, "update": 2, "retract": 1, "restore": 1, "supersede": 1, "resolve": 1, "erase": 2,
            "erase_conversation": 1, "recover": 1, "restart": 1, "withdraw": 1,
        }  # fmt: skip
        return self.chance.choices([*weights], [*weights.values()])[0]

    def one(self, *, status: str | None = None) -> str | None:
        found = [id for id, one in self.model.memories.items() if status is None or one.status == status]
        return self.chance.choice(found) if found else None

    async def post(self, path: str, memory_id: str | None, **body: Any) -> bool:
        """Change a memory; tell whether it was allowed, which it is unless it is withdrawn."""
        is_shown = memory_id is None or memory_id in self.model.shown()
        answer = await self.house.post(path, 200 if is_shown else 403, **body)
        self.see(answer)
        return is_shown

    async def write(self) -> None:
        id, version = f"m{next(self.numbers)}", self.version()
        content = f"The {version.word} is in Lisbon."
        await self.post("memories", None, memories=[fact(id, content=content, source=self.source(version))])
        self.model.memories[id] = Known([version])

    async def drop(self) -> None:
        """Drop a new file of two memories, or one that was dropped before."""
        if self.files and self.chance.random() < 0.4:
            name = self.chance.choice([*self.files])
            text = self.files[name]
            if any(word in text for word in self.model.erased):
                return  # that would be new
        else:
            name, made = f"f{next(self.numbers)}.json", {}
            for _ in range(2):
                made[f"m{next(self.numbers)}"] = Version(self.word(), self.chance.choice(["c1", None]))
            text = json_file(
                *(
                    told(id, content=f"The {version.word} is in Lisbon.", source=self.source(version))
                    for id, version in made.items()
                )
            )
            self.files[name] = text
            self.model.memories |= {id: Known([version]) for id, version in made.items()}
        if not self.house.memory().exists():
            await self.write()
        path = self.house.memory() / "ingest" / name
        await anyio.Path(path).write_text(text)

        async def ended() -> bool:
            self.see(await self.house.post("ingest/run"))
            return not path.exists()

        await eventually(ended, bool)

    async def update(self) -> None:
        if (id := self.one()) is None:
            return
        word = self.word() if self.chance.random() < 0.6 else self.model.memories[id].now.word
        version = self.version(word)
        body = {"content": f"The {word} is in Lisbon.", "source": self.source(version)}
        if await self.post(f"memories/{id}/update", id, **body):
            self.model.memories[id].versions.append(version)

    async def retract(self) -> None:
        if (id := self.one(status="active")) and await self.post(f"memories/{id}/retract", id):
            self.changed(id, "retracted")

    async def restore(self) -> None:
        if (id := self.one(status="retracted")) and await self.post(f"memories/{id}/restore", id):
            self.changed(id, "active")

    async def supersede(self) -> None:
        loser, winner = self.one(status="active"), self.one(status="active")
        if not loser or winner not in self.model.shown() or loser == winner:
            return
        if await self.post(f"memories/{loser}/supersede", loser, by_memory_id=winner):
            self.changed(loser, "superseded")

    async def resolve(self) -> None:
        """Say that two memories contradict each other, and that one of them is not true."""
        first, second = self.one(status="active"), self.one(status="active")
        if not first or not second or first == second:
            return
        id = f"e{next(self.numbers)}"
        edge = {
            "edgeId": id, "fromMemoryId": first, "toMemoryId": second, "edgeType": "Contradicts", "weight": 1,
        }  # fmt: skip
        written = await self.house.post("edges", edges=[edge])
        self.see(written)
        id = written["edges"][0]["edgeId"]
        denied = next((one for one in (first, second) if one not in self.model.shown()), first)
        if await self.post(f"contradictions/{id}/resolve", denied, retract="TO", reason="so"):
            self.changed(second, "retracted")

    def changed(self, id: str, status: str) -> None:
        one = self.model.memories[id]
        one.status = status
        one.versions.append(one.now)

    async def erase(self) -> None:
        if (id := self.one()) is not None:
            self.see(await self.house.erase(memory_ids=[id]))
            self.model.erase(id)

    async def erase_conversation(self) -> None:
        if self.house.memory().exists():
            self.see(await self.house.erase(conversation_id="c1"))
            self.model.erase_conversation("c1")

    async def recover(self) -> None:
        if self.house.memory().exists():
            answer = await self.house.client.post(
                "/v1/admin/graph/recover", json={"orchestrator_id": "planner"}
            )
            assert answer.status_code == 200, answer.text
            self.see(answer.json())

    def see(self, answer: Any) -> None:
        text = str(answer)
        assert [word for word in self.model.unseen() if word in text] == []

    async def compare(self, step: str) -> None:
        """See that the memory is what the model is, and that no file has what was erased."""
        items = (await self.house.get("memories", status="all", limit=200))["items"]
        found = {one["memoryId"]: (one["content"].split()[1], one["status"]) for one in items}
        assert found == {id: (one.now.word, one.status) for id, one in self.model.shown().items()}, step
        for answer in (
            items,
            await self.house.post("recall", query="Lisbon", top_n=100),
            await self.house.post(
                "context",
                purpose="selector",
                message_id=f"msg{next(self.numbers)}",
                message="Lisbon",
            ),
            await self.house.get("contradictions"),
        ):
            self.see(answer)
        for id in [*self.model.shown()][:5]:
            self.see(await self.house.get(f"memories/{id}/history"))
        left = b"".join(self.files_left())
        assert [word for word in self.model.erased if word.encode() in left] == [], step

    def files_left(self) -> Iterator[bytes]:
        for path in self.house.memory().rglob("*"):
            if path.is_file():
                yield path.read_bytes() + path.name.encode()


@pytest.mark.parametrize("seed", range(HISTORIES))
async def test_a_history_ends_as_the_model_says(database: Database, tmp_path: Path, seed: int) -> None:
    await History(seed, database, tmp_path).run()
