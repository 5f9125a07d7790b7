"""The small things everything else stands on: errors, the clock, identifiers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from elf.core import errors
from elf.core.clock import Clock, SystemClock
from elf.core.ids import NoteId, chunk_id_for, new_note_id


def test_a_config_error_lists_every_fault() -> None:
    faults = [errors.ConfigFault("memory.top_k", "must be at least 1"), errors.ConfigFault("", "is not TOML")]
    error = errors.ConfigError("elf.toml", faults)
    assert error.faults == tuple(faults)
    assert str(error) == "elf.toml cannot be used:\n  memory.top_k: must be at least 1\n  is not TOML"


@pytest.mark.parametrize(
    ("kind", "code", "status"),
    [
        (errors.InvalidRequest, "INVALID_REQUEST", 400),
        (errors.Unauthorized, "UNAUTHORIZED", 401),
        (errors.ScopeDenied, "SCOPE_DENIED", 403),
        (errors.Forbidden, "FORBIDDEN", 403),
        (errors.Conflict, "CONFLICT", 409),
        (errors.NotOffered, "NOT_OFFERED", 501),
        (errors.NotFound, "NOT_FOUND", 404),
        (errors.PayloadTooLarge, "PAYLOAD_TOO_LARGE", 413),
        (errors.NonEnglishInput, "NON_ENGLISH_INPUT", 422),
        (errors.InternalError, "INTERNAL_ERROR", 500),
    ],
)
def test_a_service_error_has_a_code_a_status_and_the_paths_at_fault(
    kind: type[errors.ServiceError], code: str, status: int
) -> None:
    error = kind("it is wrong", fields=["$.a", "$.b"])
    assert (error.error_code, error.status, error.message, error.fields) == (
        code,
        status,
        "it is wrong",
        ("$.a", "$.b"),
    )
    assert isinstance(error, errors.ElfError)


@pytest.mark.parametrize(
    "kind",
    [errors.Unavailable, errors.DatabaseUnavailable, errors.IndexUnavailable, errors.ProviderUnavailable],
)
def test_an_outage_says_when_to_try_again(kind: type[errors.Unavailable]) -> None:
    error = kind("it is away", retry_after_s=7)
    assert (error.error_code, error.status, error.retry_after_s, error.fields) == ("UNAVAILABLE", 503, 7, ())


@pytest.mark.parametrize(
    ("status", "concerns_all"), [(302, True), (401, True), (404, True), (400, False), (422, False)]
)
def test_a_refusal_concerns_all_requests_unless_it_is_about_what_was_asked(
    status: int, concerns_all: bool
) -> None:
    refused = errors.ProviderRefused("no", provider_status=status)
    assert isinstance(refused, errors.ProviderUnavailable)
    assert (refused.provider_status, refused.concerns_all) == (status, concerns_all)
    assert refused.retry_after_s > 1, "nothing changes within a second"


def test_a_broken_answer_says_nothing_of_other_requests() -> None:
    broken = errors.ProviderBroken("no JSON")
    assert isinstance(broken, errors.ProviderUnavailable)
    assert not broken.concerns_all
    assert errors.ProviderUnavailable("asleep").concerns_all


def test_the_system_clock_tells_aware_utc_time() -> None:
    clock: Clock = SystemClock()
    before = datetime.now(UTC)
    moment = clock.now()
    assert before <= moment <= datetime.now(UTC)
    assert moment.utcoffset() == timedelta(0)


def test_a_chunk_keeps_its_id_as_long_as_note_and_place_are_the_same() -> None:
    note = NoteId(UUID("12345678-1234-5678-1234-567812345678"))
    assert chunk_id_for(note, 0) == chunk_id_for(note, 0)
    assert len({chunk_id_for(note, 0), chunk_id_for(note, 1), chunk_id_for(new_note_id(), 0)}) == 3
    assert chunk_id_for(note, 0).version == 5


def test_new_note_ids_differ() -> None:
    assert new_note_id() != new_note_id()
    assert new_note_id().version == 4
