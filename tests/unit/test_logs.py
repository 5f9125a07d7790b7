"""What reaches the log: one JSON object a line, no secret, nothing that a user wrote."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections.abc import Iterator
from contextvars import copy_context
from typing import Any

import pytest
import structlog

from actors.processes.diverted_logs import LogDiversion
from elf.core.errors import InternalError
from elf.core.log_writer import MAX_BYTES, LogStream
from elf.core.logs import configure_logging
from elf.core.secrets import redact

TEXT = "Profile: Anna sleeps badly before exams."
SECRET = "AKIAIOSFODNN7QWERTYU"

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _fresh_logging() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:], root.level = handlers, level
    structlog.reset_defaults()


def logged(capsys: Capture) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_an_event_is_one_json_object_with_its_level_and_moment(capsys: Capture) -> None:
    configure_logging("info")
    structlog.get_logger().info("stored", notes=3)
    (event,) = logged(capsys)
    assert event.pop("timestamp").endswith("Z")
    assert event == {"event": "stored", "level": "info", "notes": 3}


def test_each_line_of_a_process_with_a_name_bears_it(capsys: Capture) -> None:
    configure_logging("info", process="worker-1")
    structlog.get_logger().info("stored")
    (event,) = logged(capsys)
    assert (event["process"], event["event"]) == ("worker-1", "stored")


def test_what_is_below_the_level_is_not_logged(capsys: Capture) -> None:
    configure_logging("warning")
    structlog.get_logger().info("stored")
    assert logged(capsys) == []


def test_secrets_are_redacted_however_deep(capsys: Capture) -> None:
    configure_logging("info")
    structlog.get_logger().info("x", given=f"key {SECRET}", deep={"list": [SECRET]}, number=4)
    (event,) = logged(capsys)
    assert SECRET not in json.dumps(event)
    assert event["number"] == 4
    assert "REDACTED" in event["given"]


def test_the_id_of_a_request_is_told_as_it_is(capsys: Capture) -> None:
    like_an_account = "50a579e1-da2c-42e6-be24-21209db77027"
    assert redact(like_an_account) != like_an_account
    configure_logging("info")
    structlog.get_logger().info("request", request_id=like_an_account)
    (event,) = logged(capsys)
    assert event["request_id"] == like_an_account


def failing(error: Exception) -> None:
    words = {"known": TEXT}
    try:
        words[TEXT]
    except KeyError as missing:
        raise error from missing


def log_failure(error: Exception) -> None:
    try:
        failing(error)
    except type(error) as caught:
        structlog.get_logger().error("failed", exc_info=caught)


def test_a_traceback_shows_frames_and_types_but_no_words_of_users(capsys: Capture) -> None:
    configure_logging("info")
    log_failure(ValueError(TEXT))
    (event,) = logged(capsys)
    assert TEXT not in json.dumps(event)
    error, cause = event["exception"]
    assert (error["exc_type"], cause["exc_type"]) == ("ValueError", "KeyError")
    assert error["frames"][-1]["name"] == "failing"


def test_the_members_of_a_group_are_shown_without_words_too(capsys: Capture) -> None:
    configure_logging("info")
    log_failure(ExceptionGroup(TEXT, [ValueError(TEXT)]))
    (event,) = logged(capsys)
    assert TEXT not in json.dumps(event)
    assert event["exception"][0]["exceptions"][0][0]["exc_type"] == "ValueError"


def test_the_messages_of_our_own_errors_are_kept(capsys: Capture) -> None:
    configure_logging("info")
    log_failure(InternalError("the provider answered with 3 vectors"))
    (event,) = logged(capsys)
    assert event["exception"][0]["exc_value"] == "the provider answered with 3 vectors"


def test_at_level_debug_messages_are_shown(capsys: Capture) -> None:
    configure_logging("debug")
    log_failure(ValueError("no such thing"))
    (event,) = logged(capsys)
    assert event["exception"][0]["exc_value"] == "no such thing"


def test_records_of_libraries_become_events(capsys: Capture) -> None:
    configure_logging("info")
    library = logging.getLogger("some.library")
    library.info("too chatty")
    library.warning("%s of %d", "one", 2)
    library.log(35, "a level of its own")
    library.error("three of %d", "x")
    library.critical("over")
    assert [(event["level"], event["message"]) for event in logged(capsys)] == [
        ("warning", "one of 2"),
        ("warning", "a level of its own"),
        ("error", "three of %d"),
        ("critical", "over"),
    ]


@pytest.mark.parametrize(("level", "is_traced"), [("info", False), ("debug", True)])
def test_a_librarys_warning_shows_its_traceback_at_level_debug_only(
    capsys: Capture, level: str, is_traced: bool
) -> None:
    configure_logging(level)
    try:
        raise ConnectionRefusedError(TEXT)
    except ConnectionRefusedError:
        logging.getLogger("lib").warning("trying again", exc_info=True)
    (event,) = logged(capsys)
    assert event["message"] == "trying again"
    assert ("exception" in event) is is_traced
    assert event.get("error") == (None if is_traced else "ConnectionRefusedError")


def test_a_cancellation_that_a_library_reports_is_no_error(capsys: Capture) -> None:
    configure_logging("info")
    logging.getLogger("asyncio").error("Exception in callback", exc_info=asyncio.CancelledError())
    (event,) = logged(capsys)
    assert event["level"] == "info"
    assert event["error"] == "CancelledError"
    assert "exception" not in event


def test_the_traceback_of_a_librarys_record_is_kept(capsys: Capture) -> None:
    configure_logging("info")
    try:
        raise ValueError(TEXT)
    except ValueError:
        logging.getLogger("lib").exception("it failed")
    (event,) = logged(capsys)
    assert event["exception"][0]["exc_type"] == "ValueError"
    assert TEXT not in json.dumps(event)


def said(capsys: Capture) -> list[str]:
    """The lines for people, without the time that each begins with."""
    return [line.split(" ", 1)[1] for line in capsys.readouterr().err.splitlines()]


def test_for_people_a_start_is_told_in_sentences_and_the_rest_by_names(capsys: Capture) -> None:
    configure_logging("debug", form="text")
    log = structlog.get_logger()
    log.info("postgres_being_made", folder="/data/postgres")
    log.warning("replica_away", error="no route")
    log.debug("actor", actor="gc_ticker", state="ready")
    assert said(capsys) == [
        "making the database files in /data/postgres, this once",
        "warning replica_away error=no route",
        "actor actor=gc_ticker state=ready",
    ]


def test_for_people_a_process_with_a_name_is_told_once(capsys: Capture) -> None:
    configure_logging("info", form="text", process="api-1")
    log = structlog.get_logger()
    log.info("index_open", pid=7, points=3, fresh=False, clean=True)
    log.info("process_started", process="worker-1", pid=8)
    assert said(capsys) == ["api-1 the index is open, with 3 points", "started the process worker-1"]


def test_for_people_what_every_start_repeats_is_left_out_unless_it_warns(capsys: Capture) -> None:
    configure_logging("info", form="text")
    log = structlog.get_logger()
    log.info("garbage_collected", ms=4)
    log.warning("garbage_collected", ms=4)
    assert said(capsys) == ["warning garbage_collected ms=4"]


def test_for_people_no_secret_and_no_words_of_users_are_shown_either(capsys: Capture) -> None:
    configure_logging("info", form="text")
    log_failure(ExceptionGroup(TEXT, [ValueError(TEXT)]))
    structlog.get_logger().info("service_starting", version="1", config=f"/{SECRET}/elf.toml")
    text = capsys.readouterr().err
    assert TEXT not in text
    assert SECRET not in text
    assert "error failed" in text
    assert "\n  | ValueError: (shown at level debug)" in text
    assert "\nbecause of KeyError: " in text
    assert " in failing\n" in text


def test_for_people_a_sentence_that_lacks_a_field_is_told_by_names(capsys: Capture) -> None:
    configure_logging("info", form="text")
    structlog.get_logger().info("index_open", pid=7)
    assert said(capsys) == ["index_open pid=7"]


def test_for_people_nothing_reaches_the_terminal_that_it_would_obey(capsys: Capture) -> None:
    configure_logging("debug", form="text")
    structlog.get_logger().info("service_starting", version="1", config="caf\u00e9\x1b[2J")
    structlog.get_logger().info("odd", what="one\ntwo\x1b]0;title\x07")
    log_failure(ValueError("three\x1b[2J"))
    shown = capsys.readouterr().err
    assert "\x1b" not in shown
    assert "caf\u00e9\\x1b[2J\n" in shown
    assert "what=one\\ntwo\\x1b]0;title\\x07\n" in shown


@pytest.mark.parametrize(
    ("form", "is_terminal", "is_text"),
    [("auto", True, True), ("auto", False, False), ("json", True, False), ("text", False, True)],
)
def test_the_form_follows_the_terminal_unless_it_is_said(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, form: str, is_terminal: bool, is_text: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
    configure_logging("info", form=form)
    structlog.get_logger().info("stored", notes=3)
    line = capsys.readouterr().err
    assert line.startswith("{") is not is_text
    assert ("\x1b[" in line) is (is_text and is_terminal)  # colours are for terminals


class Unprintable:
    def __repr__(self) -> str:
        raise ValueError(TEXT)


def test_an_event_that_cannot_be_made_a_line_of_is_told_of_and_fails_nobody(capsys: Capture) -> None:
    configure_logging("info")
    structlog.get_logger().info("stored", what=Unprintable())
    (event,) = logged(capsys)
    assert event == {"event": "log_line_failed", "level": "error", "of": "stored", "error": "ValueError"}


@pytest.mark.parametrize("form", ["json", "text"])
def test_dropped_lines_are_reported_in_the_form_of_the_log(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    reading, writing = os.pipe()
    with open(reading, "rb", buffering=0) as reader, open(writing, "wb", buffering=0):
        stream = LogStream(writing, "utf-8")
        monkeypatch.setattr(sys, "stderr", stream)
        configure_logging("error", form=form, process="api-1")
        stream.lines.write(b"x" * (MAX_BYTES + 1))
        structlog.get_logger().error("stored")
        stream.lines.close()
        told, stored = reader.read(10_000).decode().splitlines()
    if form == "json":
        fields = json.loads(told)
        del fields["timestamp"]
        assert fields == {"event": "log_lines_dropped", "level": "warning", "lines": 1, "process": "api-1"}
        assert json.loads(stored)["event"] == "stored"
    else:
        assert told.endswith(" api-1 warning 1 lines of the log before this one could not be written")
        assert stored.endswith(" api-1 error stored")


def test_a_service_inside_a_process_that_logs_as_elf_does_has_each_line_there_once(capsys: Capture) -> None:
    configure_logging("info")
    diversion = LogDiversion("info")

    def serve() -> None:
        diversion.enter()
        structlog.get_logger().warning("stored", notes=3)
        logging.getLogger("library").warning("slow")

    with diversion.installed():
        copy_context().run(serve)
    lines = [(line["library"], line["message"].split()[0]) for line in logged(capsys)]
    assert lines == [("elf", "stored"), ("elf", "library_log")]
