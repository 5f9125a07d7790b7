"""Log lines for people at a terminal: a start in sentences, everything else by its name and fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any, Final

import structlog
from structlog.dev import Column, ConsoleRenderer, KeyValueColumnFormatter

# What a start does and waits for. Fields of an event that its sentence does not name are left out.
SENTENCES: Final[Mapping[str, str]] = {
    "service_starting": "ELF {version} starts with {config}",
    "model_fetch_started": "fetching the model {model}, {megabytes} MB",
    "model_fetch_progressed": "fetched {done} of {megabytes} MB",
    "model_fetched": "the model {model} is in {folder}",
    "model_fetch_awaited": "waiting for another process that fetches or builds the model {model}",
    "model_files_damaged": "the files of the model {model} in {folder} are damaged and are fetched again",
    "model_being_built": "building the files of the model in {folder}, this once",
    "postgres_being_made": "making the database files in {folder}, this once",
    "postgres_started": "Postgres runs in {folder}",
    "postgres_attached": "joined the Postgres in {folder}, which another process of ELF runs",
    "schema_applied": "the tables of the database are made: {steps}",
    "schema_being_applied": "working on the tables of the database, for {after_s} s so far",
    "database_works": "the database can be read and written",
    "index_open": "the index is open, with {points} points",
    "index_attached": "joined the index in {folder}, which another process of ELF runs ({pid})",
    "process_started": "started the process {process}",
    "process_ready": "the process {process} is ready",
    "actor_failed": "{error} ({actor})",
    "log_lines_dropped": "{lines} lines of the log before this one could not be written",
    "said": "{line}",
}
# What comes at every start and says nothing to whoever watches it.
UNSAID: Final = frozenset(
    {"local_model.graph_built", "index_reconciled", "garbage_collected", "admin_address"}
)

_DIM, _BOLD, _RESET = "\x1b[2m", "\x1b[1m", "\x1b[0m"
_LEVELS: Final = {"warning": "\x1b[33m", "error": "\x1b[31m", "critical": "\x1b[31m"}


def drop_unsaid(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Drop what is for programs only."""
    if event["event"] in UNSAID and event["level"] == "info":
        raise structlog.DropEvent
    return event


def put_in_words(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """Make a sentence of an event that has one, and text of a rendered exception."""
    sentence = SENTENCES.get(event["event"])
    if sentence is not None and event.keys() >= _fields(sentence):
        kept = {"timestamp", "level", "process"} & event.keys() - _fields(sentence)
        event = {key: event[key] for key in kept} | {"event": sentence.format_map(event)}
    if event["level"] in ("debug", "info"):
        del event["level"]
    if "exception" in event:
        event["exception"] = "\n".join(map(_printable, _lines(event["exception"])))
    return event


def _fields(sentence: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def _lines(traces: list[dict[str, Any]]) -> Iterator[str]:
    """The causes of an exception, the outermost first, each with its frames and the members of its group."""
    for place, trace in enumerate(traces):
        yield f"{'because of ' if place else ''}{trace['exc_type']}: {trace['exc_value']}"
        for frame in trace["frames"]:
            yield f"  {frame['filename']}:{frame['lineno']} in {frame['name']}"
        for member in trace["exceptions"]:
            yield from (f"  | {line}" for line in _lines(member))


def _printable(value: object) -> str:
    """The value as text, without what a terminal would obey, such as the escapes in a message of somebody else's."""
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in str(value)
    )


def text_renderer(*, colors: bool) -> ConsoleRenderer:
    """Return what renders an event as a line: its time, a level that is not the usual one, its name, its fields."""

    def style(code: str) -> str:
        return code if colors else ""

    def plain(code: str) -> KeyValueColumnFormatter:
        return KeyValueColumnFormatter(None, style(code), style(_RESET), value_repr=_printable)

    def level(key: str, value: object) -> str:
        return f"{style(_LEVELS[str(value)])}{value}{style(_RESET)}"

    fields = KeyValueColumnFormatter(style(_DIM), "", style(_RESET), value_repr=_printable)
    return ConsoleRenderer(
        columns=[
            Column("", fields),
            Column("timestamp", plain(_DIM)),
            Column("process", plain(_BOLD)),
            Column("level", level),
            Column("event", plain("")),
        ],
        sort_keys=False,
    )
