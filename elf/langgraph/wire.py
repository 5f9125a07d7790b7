"""Turns checkpoints into requests, and answers into checkpoints: no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from elf.client.call import Call
from elf.core.long_texts import long_texts, taken_out
from elf.core.slices import at_once
from elf.langgraph import calls as c
from elf.langgraph.plain import plain
from elf.langgraph.serializer import TypeNotAllowed
from elf.langgraph.summary import Told, facts_of, summary_of

CIPHER_MARK: Final = "+"
"""In the type of what LangGraph's encrypting serializer made, before the name of the cipher."""


class Wire:
    """The requests of one tenant's saver. `user_id` is whose threads they are; None: who the config says."""

    def __init__(self, tenant_id: str | None, user_id: str | None, serde: SerializerProtocol) -> None:
        self._tenant_id = tenant_id
        self._user_id = user_id
        self._serde = serde

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new: ChannelVersions,
    ) -> Call[None]:
        values = checkpoint["channel_values"]
        head = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        whole = get_checkpoint_metadata(config, metadata)
        namespace = config["configurable"].get("checkpoint_ns", "")
        typed = self._typed(head)
        is_encrypted = CIPHER_MARK in typed["type"]
        summary = None if namespace else summary_of(checkpoint, whole, is_encrypted=is_encrypted)
        told = summary.told if summary else {}
        return c.told(
            "",
            self._thread(config)
            | {
                "checkpoint_id": checkpoint["id"],
                "parent_id": get_checkpoint_id(config),
                "checkpoint": typed,
                "metadata": self._typed(whole),
                "facts": facts_of(_without_writes(whole) if is_encrypted else whole),
                "versions": {
                    name: _version(version) for name, version in checkpoint["channel_versions"].items()
                },
                "values": [
                    {"channel": name, "version": _version(version)}
                    | (
                        self._once(values[name], told.get(name))
                        if name in values
                        else {"type": "empty", "data": b""}
                    )
                    for name, version in new.items()
                ],
                "summary": summary and summary.content,
            },
        )

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Call[None]:
        rows = [
            {"channel": name, "idx": WRITES_IDX_MAP.get(name, place)} | self._typed(value)
            for place, (name, value) in enumerate(writes)
        ]
        body = {"checkpoint_id": get_checkpoint_id(config), "task_id": task_id, "task_path": task_path}
        return c.told("/writes", self._thread(config) | body | {"writes": rows})

    def get(self, config: RunnableConfig) -> Call[c.Found]:
        return c.asked(
            "/get", self._thread(config) | {"checkpoint_id": get_checkpoint_id(config)}, c.read_found
        )

    def list(
        self,
        config: RunnableConfig | None,
        filter: dict[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
        cursor: str | None,
    ) -> Call[c.Listed]:
        given = config["configurable"] if config else {}
        body = {
            "thread_id": str(given["thread_id"]) if "thread_id" in given else None,
            "checkpoint_ns": given.get("checkpoint_ns"),
            "checkpoint_id": get_checkpoint_id(config) if config else None,
            "before": get_checkpoint_id(before) if before else None,
            "facts": facts_of(filter or {}),
            "limit": min(limit, 50) if limit is not None else 50,
            "cursor": cursor,
        }
        return c.asked("/list", self._owner(config) | body, c.read_listed)

    def of_threads(self, path: str, **body: Any) -> Call[None]:
        """Make a call about threads or runs, which names no config."""
        return c.told(path, self._owner(None) | body)

    def tuple_of(self, stored: c.Stored, config: RunnableConfig | None) -> CheckpointTuple:
        """Return a checkpoint as a graph knows it; `config` is what it was asked with.

        Raises TypeNotAllowed, naming the place, where it is made of a type that nobody allowed.
        """

        def value(one: c.Value, part: str) -> Any:
            try:
                return self._serde.loads_typed((one.type, one.data))
            except TypeNotAllowed as error:
                place = f"thread {stored.thread_id}, checkpoint {stored.checkpoint_id}, {part}"
                raise error.at(place) from None

        head = cast("Checkpoint", value(stored.checkpoint, "its head"))
        return CheckpointTuple(
            config=self.config_of(stored, stored.checkpoint_id, config),
            checkpoint={
                **head,
                "channel_values": {
                    one.channel: value(one, f"channel {one.channel}") for one in stored.values
                },
            },
            metadata=cast("CheckpointMetadata", value(stored.metadata, "its metadata")),
            parent_config=(
                None if stored.parent_id is None else self.config_of(stored, stored.parent_id, config)
            ),
            pending_writes=[
                (write.task_id, write.channel, value(write, f"a write to channel {write.channel}"))
                for write in stored.writes
            ],
        )

    def config_of(
        self, stored: c.Stored, checkpoint_id: str, config: RunnableConfig | None
    ) -> RunnableConfig:
        return self.config(stored.thread_id, stored.checkpoint_ns, checkpoint_id, config)

    def config(
        self, thread_id: str, namespace: str, checkpoint_id: str, asked: RunnableConfig | None
    ) -> RunnableConfig:
        """Return the config of a checkpoint; it names the user when the one that was asked with did."""
        user = asked["configurable"].get("user_id") if asked else None
        where = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
        return {"configurable": where if user is None else where | {"user_id": user}}

    def _owner(self, config: RunnableConfig | None) -> dict[str, Any]:
        user = self._user_id
        if user is None and config is not None:
            user = config["configurable"].get("user_id")
        return {"tenant_id": self._tenant_id, "user_id": None if user is None else str(user)}

    def _thread(self, config: RunnableConfig) -> dict[str, Any]:
        given = config["configurable"]
        namespace = given.get("checkpoint_ns", "")
        return self._owner(config) | {"thread_id": str(given["thread_id"]), "checkpoint_ns": namespace}

    def _typed(self, value: object) -> dict[str, Any]:
        try:
            kind, data = self._serde.dumps_typed(value)
        except TypeError:
            # LangGraph's own serializer takes subclasses of str and int, but not of float or tuple.
            kind, data = self._serde.dumps_typed(plain(value))
        return {"type": kind, "data": plain(data)}

    def _once(self, value: object, told: Told | None) -> dict[str, Any]:
        """Return a value without the long texts that the summary has of it."""
        typed = self._typed(value)
        if told is None or not (texts := at_once(long_texts(told.value))):
            return typed
        typed["data"], places = taken_out(typed["data"], texts)
        return typed | {"left_out": {"within": told.within, "places": places}}


def _without_writes(metadata: CheckpointMetadata) -> dict[str, Any]:
    """Return metadata without what nodes wrote, which is a copy that anyone can read."""
    return {name: said for name, said in metadata.items() if name != "writes"}


def _version(version: str | float) -> str:
    """Return a version as a text that no other version has, in characters that JSON writes as they are."""
    return f"{type(version).__name__}:{version}"
