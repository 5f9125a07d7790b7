"""Checkpoints of graphs: requests, answers and operations. Values are bytes that the service stores and never opens."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias
from uuid import UUID

import msgspec
from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic.config import JsonDict

from elf.api.bodies import WHOLE, GivenIdentifier, Request, Response
from elf.api.json_bounds import JsonBounds
from elf.api.operation import Operation
from elf.core.errors import Conflict, NotFound, ScopeDenied, ServiceError
from elf.core.long_texts import LONG_CHARS, NOT_LEFT_OUT
from elf.families.assistant.api import fields as f

TAG: Final = "assistant: checkpoints"
PATH: Final = "/v1/assistant/checkpoints"
THREAD: Final = "/v1/assistant/threads/{thread_id}/checkpoint"
MAX_BODY_BYTES: Final = 16 << 20
MAX_CHECKPOINT_BYTES: Final = 32 << 20
"""Of a checkpoint with the values of its channels, which may have come with others, and what was written after it."""
CIPHER_MARK: Final = "+"
"""In the type of an encrypted value, before the name of the cipher."""
READABLE_METADATA: Final = ("step", "ts")
"""What is told of a checkpoint that only its graph may read."""
MAX_THREADS: Final = 1000
MAX_CHANNELS: Final = 10_000
MAX_CHANNEL_CHARS: Final = 1024
MAX_VERSION_CHARS: Final = 256
MAX_FACTS_ASKED: Final = 32
MAX_PAGE: Final = 100
BOUNDS: Final = JsonBounds(values=500_000, string_chars=MAX_BODY_BYTES)


def _decoded(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return msgspec.convert(value, bytes)  # six times as quick as binascii
    except msgspec.ValidationError:
        raise ValueError("must be base64") from None


Data = Annotated[
    bytes,
    BeforeValidator(_decoded),
    WithJsonSchema(
        {
            "type": "string", "contentEncoding": "base64",
            "pattern": "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$",
        }
    ),
    Field(description="Bytes, in base64."),
]  # fmt: skip
Kind = Annotated[
    str, Field(min_length=1, max_length=64, description="How the bytes were made.", examples=["msgpack"])
]
Channel = Annotated[
    str, Field(max_length=MAX_CHANNEL_CHARS, description="A channel of the graph.", examples=["messages"])
]
Version = Annotated[
    str, Field(min_length=1, max_length=MAX_VERSION_CHARS, description="A version of a channel.")
]
Namespace = Annotated[
    str, Field(max_length=2048, description="The graph within the graph; empty for the outermost one.")
]
CheckpointId = Annotated[
    str,
    Field(
        min_length=1, max_length=128, description="The id of a checkpoint; they sort as they were made.",
        examples=["1ef4f797-8335-6428-8001-8a1503f9b875"],
    ),
]  # fmt: skip
ThreadId = Annotated[GivenIdentifier, Field(description="The thread.", examples=["t-1"])]
ThreadIds = Annotated[list[ThreadId], Field(max_length=MAX_THREADS, description="Threads.")]
Facts: TypeAlias = Annotated[dict[str, Any], Field(description="What of the metadata JSON can hold.")]


_FACTS_ASKED: Final[JsonDict] = {"maxProperties": MAX_FACTS_ASKED}
_VERSIONS: Final[JsonDict] = {
    "propertyNames": {"maxLength": MAX_CHANNEL_CHARS},
    "additionalProperties": {"type": "string", "minLength": 1, "maxLength": MAX_VERSION_CHARS},
}


def _few(facts: dict[str, Any]) -> dict[str, Any]:
    if len(facts) > MAX_FACTS_ASKED:
        raise ValueError(f"should have at most {MAX_FACTS_ASKED} names, not {len(facts)}")
    return facts


def _within_bounds(versions: dict[str, str]) -> dict[str, str]:
    if any(len(channel) > MAX_CHANNEL_CHARS for channel in versions):
        raise ValueError(f"a channel should have at most {MAX_CHANNEL_CHARS} characters")
    if not all(0 < len(version) <= MAX_VERSION_CHARS for version in versions.values()):
        raise ValueError(f"a version should have 1 to {MAX_VERSION_CHARS} characters")
    return versions


class Typed(Request):
    """A value as the graph's serializer made it."""

    type: Kind
    data: Data


class LeftOut(Request):
    """The long texts that the summary has and the data of a value has not, so that they are sent once.

    They are the texts of at least 256 characters, but no keys, of what the summary says of the channel, in the order in
    which it has them.
    """

    within: Annotated[
        Literal["graph_state", "memory_context", "conversation_history"],
        Field(description="Where the summary has the value; in `graph_state` it has the channel's name."),
    ]
    places: Annotated[
        list[Annotated[int, Field(ge=NOT_LEFT_OUT), WHOLE]],
        Field(
            max_length=MAX_BODY_BYTES // LONG_CHARS, examples=[[4, 9]],
            description="Before which byte of the data each of the texts stands, or -1 where the data has it.",
        ),
    ]  # fmt: skip


class ChannelValue(Typed):
    """The value of a channel at a version; the type `empty` is that of none."""

    channel: Channel
    version: Version
    left_out: LeftOut | None = None


class Write(Typed):
    """What a task wrote to a channel. One with an index of 0 or more is kept as it was written first."""

    channel: Channel
    idx: Annotated[int, Field(ge=-1000, le=1_000_000), WHOLE]


class OfThread(f.OfUser):
    thread_id: ThreadId
    checkpoint_ns: Namespace = ""


class PutCheckpoint(OfThread):
    """A checkpoint, with the values of the channels that are new since the one before.

    With the values of all its channels and what was written after it, it has at most 32 MiB.
    """

    checkpoint_id: CheckpointId
    parent_id: CheckpointId | None = None
    checkpoint: Typed
    metadata: Typed
    facts: Facts
    versions: Annotated[
        dict[str, str],
        Field(
            max_length=MAX_CHANNELS, description="The version of each channel.", json_schema_extra=_VERSIONS
        ),
        AfterValidator(_within_bounds),
    ]
    values: Annotated[list[ChannelValue], Field(max_length=MAX_CHANNELS)]
    summary: (
        Annotated[
            dict[str, Any],
            Field(description="What the checkpoint says, as JSON, for readers that are no graph."),
        ]
        | None
    ) = None


class PutWrites(OfThread):
    """What a task wrote after a checkpoint."""

    checkpoint_id: CheckpointId
    task_id: Annotated[str, Field(min_length=1, max_length=256)]
    task_path: Annotated[str, Field(max_length=4096)] = ""
    writes: Annotated[list[Write], Field(max_length=MAX_CHANNELS)]


class GetCheckpoint(OfThread):
    """Which checkpoint; without an id the newest."""

    checkpoint_id: CheckpointId | None = None


class ListCheckpoints(f.OfUser):
    """Which checkpoints: what is left out lets all through."""

    thread_id: ThreadId | None = None
    checkpoint_ns: Namespace | None = None
    checkpoint_id: CheckpointId | None = None
    before: Annotated[CheckpointId, Field(description="Only those made before this one.")] | None = None
    facts: Annotated[
        Facts,
        Field(description="What their metadata says, by at most 32 names.", json_schema_extra=_FACTS_ASKED),
        AfterValidator(_few),
    ] = Field(default_factory=dict)
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="How many at most, 1 to 100."), WHOLE] = 50
    cursor: (
        Annotated[str, Field(max_length=8192, description="The next_cursor of the page before.")] | None
    ) = None


class DeleteCheckpoints(f.OfUser):
    """Whole threads, or all that some runs made."""

    thread_ids: ThreadIds = Field(default_factory=list)
    run_ids: Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=MAX_THREADS)] = Field(
        default_factory=list
    )


class CopyThread(f.OfUser):
    source_thread_id: ThreadId
    target_thread_id: ThreadId


class PruneThreads(f.OfUser):
    thread_ids: ThreadIds
    strategy: Annotated[
        Literal["keep_latest", "delete"],
        Field(description="keep_latest leaves the newest checkpoint of each namespace, and what it needs."),
    ] = "keep_latest"


class TypedValue(Response):
    type: Kind
    data: Annotated[str, Field(description="Bytes, in base64.")]


class StoredValue(TypedValue):
    channel: Channel


class StoredWrite(StoredValue):
    task_id: str


class StoredCheckpoint(Response):
    """A checkpoint with the values of its channels, and what was written after it, in the order it is applied in."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    parent_id: str | None
    checkpoint: TypedValue
    metadata: TypedValue
    values: list[StoredValue]
    writes: list[StoredWrite]


class FoundCheckpoint(Response):
    checkpoint: Annotated[StoredCheckpoint | None, Field(description="Null when there is none.")]


class Checkpoints(Response):
    items: list[StoredCheckpoint]
    next_cursor: f.NextCursor


class OfOneThread(f.OfUser):
    thread_id: ThreadId


class SaveThread(OfOneThread):
    """What somebody keeps of a thread whose checkpoints no saver keeps."""

    checkpoint_data: Annotated[dict[str, Any], Field(description="A JSON object.")]


class ThreadCheckpoint(Response):
    """What the newest checkpoint of a thread says."""

    id: UUID
    tenant_id: f.TenantId
    user_id: f.UserId
    thread_id: str
    checkpoint_data: dict[str, Any]
    encrypted: bool = Field(
        description="Whether only the graph can read the checkpoint: `checkpoint_data` has metadata alone."
    )
    created_at: f.Moment
    updated_at: f.Moment


class RedactCheckpoints(Request):
    """Of whom: of one user, or of the whole tenant."""

    tenant_id: f.TenantIdGiven
    user_id: f.UserIdGiven | None = None


class RedactedCheckpoints(Response):
    redacted: int = Field(description="Of how many threads the readable copy was removed.")


def _post(
    name: str, path: str, summary: str, request: type[Request], response: type[Response] | None,
    *, reads: bool = False, errors: tuple[type[ServiceError], ...] = (ScopeDenied,),
) -> Operation:  # fmt: skip
    return Operation(
        name, "POST", f"{PATH}{path}", summary, request, response, tag=TAG, text="any", reads=reads,
        status=200 if response else 204, errors=errors, max_body_bytes=MAX_BODY_BYTES, json_bounds=BOUNDS,
    )  # fmt: skip


PUT: Final = _post("put_checkpoint", "", "Write a checkpoint", PutCheckpoint, None)
PUT_WRITES: Final = _post("put_checkpoint_writes", "/writes", "Write what a task wrote", PutWrites, None)
GET: Final = _post(
    "get_checkpoint", "/get", "Read a checkpoint", GetCheckpoint, FoundCheckpoint, reads=True,
    errors=(Conflict, ScopeDenied),
)  # fmt: skip
LIST: Final = _post(
    "list_checkpoints", "/list", "List checkpoints", ListCheckpoints, Checkpoints, reads=True,
    errors=(Conflict, ScopeDenied),
)  # fmt: skip
DELETE: Final = _post("delete_checkpoints", "/delete", "Delete threads or runs", DeleteCheckpoints, None)
COPY: Final = _post("copy_checkpoints", "/copy", "Copy a thread", CopyThread, None)
PRUNE: Final = _post("prune_checkpoints", "/prune", "Prune threads", PruneThreads, None)
READ_THREAD: Final = Operation(
    "get_thread_checkpoint", "GET", THREAD, "Read what a thread's checkpoint says", OfOneThread, ThreadCheckpoint,
    tag=TAG, text="any", errors=(NotFound, ScopeDenied),
)  # fmt: skip
SAVE_THREAD: Final = Operation(
    "save_thread_checkpoint", "POST", THREAD, "Keep a checkpoint of a thread that has no saver", SaveThread,
    ThreadCheckpoint, tag=TAG, text="any", errors=(Conflict, ScopeDenied), max_body_bytes=MAX_BODY_BYTES,
    json_bounds=BOUNDS,
)  # fmt: skip
REDACT: Final = Operation(
    "redact_checkpoints", "POST", "/v1/admin/assistant/checkpoints/redact",
    "Remove the readable copies of checkpoints that savers keep", RedactCheckpoints, RedactedCheckpoints, tag=TAG,
    is_slow=True, counted=("redacted",),
)  # fmt: skip
CHECKPOINTS: Final = (PUT, PUT_WRITES, GET, LIST, DELETE, COPY, PRUNE, READ_THREAD, SAVE_THREAD)
