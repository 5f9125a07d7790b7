"""What an assistant remembers of a user, and what of it others must not be told."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from tests.families.assistant_callers import CALLERS, USER
from tests.families.fronts import Fronts
from tests.families.rows import Caller, Kind

LISTED: Final = 200
FILES: Final = ("file", "spare_file", "doomed_file")
IDS: Final = ("goal", "steps", "spare", "doomed", "gone", "name", "city", "checkpoint", *FILES)
PASSING: Final = frozenset({"last_accessed", "hit_count"})
"""What is counted after an answer, and by no change of a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssistantWorld:
    """What is remembered of a user: each text holds the `word`.

    `goal` is a memory, and `steps` one of how something is done; `spare`, `doomed` and `gone`, which is deleted, are
    for those who change memories. The user is known by the word, agreed to `name`, and has not decided about `city`.
    The `thread` is told of every change, and a saver keeps the `checkpoint` of it, whose value is `data`; of
    `other_thread` somebody without a saver keeps what it says. `file`, `spare_file` and `doomed_file` are
    names of files.
    """

    fronts: Fronts
    place: Mapping[str, str]
    word: str
    goal: str = ""
    steps: str = ""
    spare: str = ""
    doomed: str = ""
    gone: str = ""
    name: str = ""
    city: str = ""
    checkpoint: str = ""
    file: str = ""
    spare_file: str = ""
    doomed_file: str = ""

    @property
    def thread(self) -> str:
        return f"t-{self.place['tenant_id'][-12:]}"

    @property
    def other_thread(self) -> str:
        return f"{self.thread}-o"

    @property
    def copied_thread(self) -> str:
        """What the owner copies the thread to."""
        return f"{self.thread}-c"

    @property
    def data(self) -> str:
        """The value of the checkpoint, which only its owner has."""
        return b64encode(self.word.encode()).decode()

    @property
    def turn(self) -> Mapping[str, Any]:
        """The turn by which the user is known."""
        said = [_said(f"Please call me {self.word}."), _said(f"I live in {self.word}.")]
        return {"thread_id": self.thread, "turn_id": "1", "messages": said}

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        return [self.word, self.data, *(getattr(self, name) for name in IDS)]

    def unknown(self, kind: Kind) -> AssistantWorld:
        return replace(self, **{name: str(uuid4()) for name in IDS})

    def of(self, caller: Caller) -> AssistantWorld:
        return self

    def ask(self, name: str, **arguments: Any) -> Any:
        """Return what an operator is answered of the user."""
        reply = self.fronts.public.ask(name, {**self.place, **arguments})
        assert reply.ok, f"{name}: {reply.text}"
        return reply.body

    def state(self) -> object:
        """Every memory with what became of it, all that the user agreed to, and the checkpoints of the threads."""
        listed = [
            {key: value for key, value in one.items() if key not in PASSING}
            for state in ("active", "soft_deleted")
            for one in self.ask("list_assistant_memories", state=state, limit=LISTED)["items"]
        ]
        pages = [
            self.ask(name, limit=LISTED)["items"] for name in ("assistant_history", "assistant_proposals")
        ]
        says = [
            self.fronts.public.ask("get_thread_checkpoint", {**self.place, "thread_id": one}).text
            for one in (self.thread, self.other_thread)
        ]
        files = self.ask("list_assistant_files", limit=LISTED)["items"]
        texts = [self.ask("read_assistant_file", path=one["path"]) for one in files]
        known = self.ask("assistant_user_context")
        return [listed, pages, known, self.ask("list_checkpoints"), says, files, texts]


def path_of(name: str) -> str:
    """Return where a file of a name is."""
    return f"/memories/{name}/notes.md"


def checkpoint(checkpoint_id: str, data: str) -> dict[str, Any]:
    """Return a checkpoint of a graph with one channel."""
    typed = {"type": "bytes", "data": data}
    return {
        "checkpoint_id": checkpoint_id, "checkpoint": typed, "metadata": typed, "facts": {"run_id": checkpoint_id},
        "versions": {"messages": "1"}, "values": [{"channel": "messages", "version": "1", **typed}],
    }  # fmt: skip


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> AssistantWorld:
    """Have an assistant remember things of a user of a new tenant."""
    mark = uuid4().hex[:12]
    place = {"tenant_id": f"owner-{mark}", "user_id": USER}
    world = AssistantWorld(fronts=fronts, place=place, word=f"W{mark}", checkpoint=f"c-{mark}")

    def add(text: str, **other: Any) -> str:
        added = world.ask(
            "add_assistant_memory", text=text, category="goals", thread_id=world.thread, **other
        )
        return str(added["memory"]["id"])

    word = world.word
    steps = world.ask("add_assistant_procedure", steps=[f"Open {word}.", "Close it."])["memory"]["id"]
    ids = {
        "goal": add(f"User wants to see the museum of {word}."),
        "spare": add(f"User wants to sell the boat {word}."),
        "doomed": add(f"User plans to learn the language {word}."),
        "gone": add(f"User hopes to meet the band {word}."),
    }
    world.ask("delete_assistant_memory", memory_id=ids["gone"])
    taken = world.ask("assistant_turn", **world.turn)["results"]
    name, city = (one["proposal_id"] for one in taken if one["result"] == "PROPOSED")
    world.ask("decide_assistant_proposal", proposal_id=name, decision="approve")
    world.ask(
        "put_checkpoint", thread_id=world.thread, **checkpoint(world.checkpoint, world.data), summary={"says": word}
    )  # fmt: skip
    world.ask("save_thread_checkpoint", thread_id=world.other_thread, checkpoint_data={"says": word})
    ids |= {kind: f"{kind}-{mark}" for kind in FILES}
    for kind in FILES:
        world.ask("create_assistant_file", path=path_of(ids[kind]), file_text=f"The boat {word}.\n")
    world.ask("insert_assistant_file", path=path_of(ids["file"]), insert_line=0, insert_text="Boats")
    return replace(world, **ids, steps=steps, name=name, city=city)


def _said(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
