"""What the log says of actors: failures once and then every few seconds, states at level debug."""

from __future__ import annotations

from typing import Any

import pytest
from structlog.testing import capture_logs

from actors.kernel import ActorState, SupervisorEvent
from actors.kernel.failure import described
from actors.processes.process import REPEAT_EVERY_S, ActorLog
from elf.core.errors import DatabaseUnavailable


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def log(clock: Clock) -> ActorLog:
    return ActorLog(clock=clock)


def failed(error: Exception, state: ActorState = ActorState.BACKOFF) -> SupervisorEvent:
    return SupervisorEvent("database", state, 1, described(error), error, 0.5)


def logged(log: ActorLog, *events: SupervisorEvent) -> list[dict[str, Any]]:
    with capture_logs() as lines:
        for event in events:
            log(event)
    return [dict(line) for line in lines]


def test_the_states_of_an_actor_are_for_debugging(log: ActorLog) -> None:
    lines = logged(
        log, *(SupervisorEvent("database", state, 0) for state in ("starting", "ready", "stopped"))
    )
    assert {line["log_level"] for line in lines} == {"debug"}


def test_a_failure_is_a_warning_that_says_our_own_errors_without_their_class(log: ActorLog) -> None:
    (ours, other) = logged(log, failed(DatabaseUnavailable("away")), failed(ValueError("broken")))
    assert ours == {
        "event": "actor_failed", "log_level": "warning", "actor": "database", "state": "backoff", "error": "away",
        "delay_s": 0.5,
    }  # fmt: skip
    assert other["error"] == "ValueError: broken"


def test_the_same_failure_is_said_again_after_a_while_and_another_one_at_once(
    log: ActorLog, clock: Clock
) -> None:
    away, full = failed(DatabaseUnavailable("away")), failed(DatabaseUnavailable("full"))
    assert [line["log_level"] for line in logged(log, away, away, full, full)] == [
        "warning",
        "debug",
        "warning",
        "debug",
    ]
    clock.now += REPEAT_EVERY_S
    assert [line["log_level"] for line in logged(log, full, full)] == ["warning", "debug"]


def test_an_actor_that_is_given_up_is_always_a_warning(log: ActorLog) -> None:
    away = DatabaseUnavailable("away")
    lines = logged(log, failed(away), failed(away, ActorState.FAILED), failed(away, ActorState.STUCK))
    assert [line["log_level"] for line in lines] == ["warning"] * 3
