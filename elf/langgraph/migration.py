"""Takes the checkpoints of one saver to another one, and compares them whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, get_checkpoint_id

from elf.langgraph.saver import ElfSaver


class MigrationFault(Exception):
    """A checkpoint is not in the target as it is in the source."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """How many threads, checkpoints and pending writes were copied and found to be equal."""

    threads: int
    checkpoints: int
    writes: int


def migrate(source: BaseCheckpointSaver[Any], target: ElfSaver) -> Migrated:
    """Copy all checkpoints of all threads of `source`, and compare each with what `target` then has.

    They are `user_id`'s of the target, or without one that of the user whom their metadata names. Done again, it leaves
    the same. Raises MigrationFault for the first that differs, naming thread, checkpoint and part; ValueError when
    nobody says whose a thread is.
    """
    configs = sorted(
        (one.config for one in source.list(None)), key=lambda config: str(get_checkpoint_id(config))
    )
    sent: set[tuple[str, str, str, str]] = set()
    writes = sum(_copy(_read(source, config), target, sent) for config in configs)
    for config in configs:
        _compare(_read(source, config), target)
    threads = {str(config["configurable"]["thread_id"]) for config in configs}
    return Migrated(threads=len(threads), checkpoints=len(configs), writes=writes)


def _read(source: BaseCheckpointSaver[Any], config: RunnableConfig) -> CheckpointTuple:
    found = source.get_tuple(config)
    if found is None:
        raise MigrationFault(f"{_name(config)}: is no longer in the source")
    return found


def _copy(one: CheckpointTuple, target: ElfSaver, sent: set[tuple[str, str, str, str]]) -> int:
    """Copy a checkpoint and return how many writes it has."""
    where = _of_target(one, target)
    place = (str(where["thread_id"]), str(where["checkpoint_ns"]))
    parent = get_checkpoint_id(one.parent_config) if one.parent_config else None
    new = {
        channel: version
        for channel, version in one.checkpoint["channel_versions"].items()
        if (*place, channel, repr(version)) not in sent
    }
    above: RunnableConfig = {"configurable": where | ({"checkpoint_id": parent} if parent else {})}
    stored = target.put(above, one.checkpoint, one.metadata, new)
    sent.update((*place, channel, repr(version)) for channel, version in new.items())
    # A checkpoint does not say which path a task had: the order of its writes stands in for it.
    by_task: dict[str, list[tuple[str, Any]]] = {}
    for task_id, channel, value in one.pending_writes or []:
        by_task.setdefault(task_id, []).append((channel, value))
    for number, (task_id, writes) in enumerate(by_task.items()):
        target.put_writes(stored, writes, task_id, f"{number:08}")
    return len(one.pending_writes or [])


def _of_target(one: CheckpointTuple, target: ElfSaver) -> dict[str, Any]:
    given = one.config["configurable"]
    where = {"thread_id": given["thread_id"], "checkpoint_ns": given.get("checkpoint_ns", "")}
    metadata: Mapping[str, Any] = one.metadata
    user = given.get("user_id", metadata.get("user_id"))
    return where if target.user_id is not None or user is None else where | {"user_id": user}


def _compare(one: CheckpointTuple, target: ElfSaver) -> None:
    name = _name(one.config)
    where = _of_target(one, target) | {"checkpoint_id": one.checkpoint["id"]}
    found = target.get_tuple({"configurable": where})
    if found is None:
        raise MigrationFault(f"{name}: is not in the target")
    was, now = _parts(one), _parts(found)
    for part in sorted(was.keys() | now.keys()):
        if part not in was or part not in now or not _same(was[part], now[part], target):
            raise MigrationFault(f"{name}: {part} differs")


def _parts(one: CheckpointTuple) -> dict[str, Any]:
    values = {f"channel {name}": value for name, value in one.checkpoint["channel_values"].items()}
    head = {name: value for name, value in one.checkpoint.items() if name != "channel_values"}
    parent = get_checkpoint_id(one.parent_config) if one.parent_config else None
    return values | head | {
        "metadata": one.metadata, "parent": parent, "pending writes": list(one.pending_writes or []),
    }  # fmt: skip


def _same(was: object, now: object, target: ElfSaver) -> bool:
    # What the serializer writes tells more than ==, which for arrays is no bool; a set has no order to be written in.
    return target.serde.dumps_typed(was) == target.serde.dumps_typed(now) or bool(was == now)


def _name(config: RunnableConfig) -> str:
    given = config["configurable"]
    return f"thread {given['thread_id']}, {given.get('checkpoint_ns', '')!r}, checkpoint {get_checkpoint_id(config)}"
