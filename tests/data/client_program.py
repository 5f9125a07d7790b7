"""A program of a user of the client, for mypy --strict: what it must say of a line stands behind the line."""

from __future__ import annotations

from typing import reveal_type

from elf import AsyncMemory, Memory
from elf.client import AsyncClient, Client, Message, NewNote, local


def use(memory: Client) -> None:
    reveal_type(memory.add_note("x", type="plan"))  # type: elf.client.results.WriteResult
    reveal_type(memory.add_note("x").stored)  # type: bool
    reveal_type(memory.add_notes([NewNote(text="x"), {"text": "y"}])[0].note_id)  # type: uuid.UUID | None
    event = memory.add_event([Message(role="user", content="x"), {"role": "tool", "content": "y"}])
    reveal_type(event.extracted[0].text)  # type: str
    reveal_type(event.extracted[0].raw)  # type: int | float | str | list[JSON] | dict[str, JSON] | None
    reveal_type(event.stored)  # type: list[elf.client.results.ExtractedNote]
    reveal_type(event.results)  # type: list[elf.client.results.WriteResult]
    found = memory.search("x", top_k=3)
    reveal_type(found.items)  # type: list[elf.client.results.SearchItem]
    reveal_type(found.items[0].relevance)  # type: float | None
    reveal_type(memory.search("x", min_relevance=0.45).weak_match)  # type: bool | None
    reveal_type(found.items[0].source_ref)  # type: dict[str, JSON]
    reveal_type(found.items[0].explain.boosts[0].score)  # type: float
    reveal_type(memory.explain(found.items[0].result_handle))  # type: elf.client.results.ExplainedItem
    reveal_type(memory.trace(found.trace_id).trace.config_snapshot)  # type: dict[str, JSON]
    for note in memory.list(type="fact", status="active"):
        reveal_type(note)  # type: elf.client.results.Note
        memory.add_note(note.text, type=note.type, scope=note.scope, source_ref=note.source_ref)
    reveal_type(next(memory.list().pages()).next_cursor)  # type: str | None
    for version in memory.history("x"):
        reveal_type(version.new_snapshot)  # type: dict[str, JSON] | None
    reveal_type(memory.get("x").updated_at)  # type: datetime.datetime
    reveal_type(memory.update("x", text="y"))  # type: elf.client.results.Updated
    reveal_type(memory.delete("x").op)  # type: Literal['DELETE'] | Literal['NONE']
    reveal_type(memory.restore("x").version_id)  # type: uuid.UUID | None
    reveal_type(memory.ready().parts)  # type: list[elf.client.results.Part]
    reveal_type(memory.within(agent_id="b"))  # type: elf.client.blocking.Client
    reveal_type(memory.within(user="ana", scope="project_shared").calls.scope)  # type: str


async def use_async(memory: AsyncClient) -> None:
    reveal_type((await memory.search("x")).items[0].snippet)  # type: str
    reveal_type(await memory.add_event([]))  # type: elf.client.results.EventWritten
    async for note in memory.list():
        reveal_type(note.source_ref)  # type: dict[str, JSON]


def use_memory(memory: Memory) -> None:
    reveal_type(memory.remember("x", user_id="ana").families[0].written[0].op)  # type: str
    reveal_type(memory.recall("x").items[0].address)  # type: str
    reveal_type(memory.add(["x", {"content": "y"}])["results"][0]["id"])  # type: str | None
    reveal_type(memory.search("x", limit=3)["results"][0]["score"])  # type: float
    reveal_type(memory.history("x")[0]["old_memory"])  # type: str | None
    reveal_type(memory.within(user_id="ana"))  # type: elf.client.memory.blocking.Memory
    reveal_type(memory.client)  # type: elf.client.blocking.Client
    memory.search("x", limt=3)  # fault: call-arg
    memory.add(5)  # fault: arg-type
    memory.recall("x", user_id=5)  # fault: arg-type
    Memory("x", user_id=5)  # fault: arg-type


async def use_async_memory(memory: AsyncMemory) -> None:
    reveal_type((await memory.recall("x")).items[0].address)  # type: str
    reveal_type((await memory.get_all())["results"][0]["memory"])  # type: str
    async with AsyncMemory("http://x") as other:
        reveal_type(other)  # type: elf.client.memory.asynchronous.AsyncMemory


def misuse(memory: Client) -> None:
    memory.add_note(5)  # fault: arg-type
    memory.add_note()  # fault: call-arg
    memory.add_note("x", type="opinion")  # fault: arg-type
    memory.add_note("x", importance="high")  # fault: arg-type
    memory.add_note("x", imprtance=0.5)  # fault: call-arg
    memory.add_note("x", source_ref="chat")  # fault: arg-type
    memory.add_notes("x")  # fault: arg-type
    memory.add_event([Message(role="robot", content="x")])  # fault: arg-type
    memory.search("x", top_k="3")  # fault: arg-type
    memory.search("x", min_relevance="high")  # fault: arg-type
    memory.list(status="lost")  # fault: arg-type
    memory.get(5)  # fault: arg-type
    memory.within(tenant_id=5)  # fault: arg-type
    memory.within(user=5)  # fault: arg-type
    Client("x", timeout_s="9")  # fault: arg-type
    NewNote(text=5)  # fault: arg-type
    str(memory.search("x").itms)  # fault: attr-defined
    str(memory.get("x").text + 1)  # fault: operator


with local("folder") as mine:
    use(mine)
    reveal_type(mine.search("x").degraded)  # type: list[str]
