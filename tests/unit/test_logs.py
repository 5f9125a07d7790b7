"""What reaches the log: one JSON object a line, no secret, nothing that a user wrote."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from elf.core.errors import InternalError
from elf.core.logs import configure_logging

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
