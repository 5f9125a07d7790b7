"""An embedding model that is slow beside its timeout: long notes are embedded once each, in their order."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import Any, Final

import numpy as np
import pytest

from tests.system.fake_model import DIMENSIONS, point_embedding
from tests.system.misbehaviour import MisbehavingModel, Wire, as_json, refuses, running_model
from tests.system.service import RunningService, note, wait_for, write_config
from tests.system.truth import rows, sound_vectors, wait_indexed

CHARS_A_SECOND: Final = 120_000
TIMEOUT_MS: Final = 1500
LONG: Final = 16_000
NOTES: Final = 24
MOST_OVERTAKEN: Final = 8  # two workers are at it, and each has another's notes behind it
SOME: Final = 7
SYLLABLES: Final = ("ka", "ti", "mo", "lu", "be", "so", "ri", "na", "pe", "du")


class SlowModel:
    """Embeds one request after the other, so many characters a second; `worked_on` are the texts it spent time on."""

    def __init__(self) -> None:
        self.worked_on: list[str] = []
        self._turn = threading.Lock()

    def __call__(self, body: dict[str, Any], wire: Wire) -> None:
        with self._turn:
            wire.pause(sum(map(len, body["input"])) / CHARS_A_SECOND)
            self.at_once(body, wire)

    def at_once(self, body: dict[str, Any], wire: Wire) -> None:
        self.worked_on += body["input"]
        wire.answer(as_json([vector_of(text) for text in body["input"]]))


def vector_of(text: str) -> list[float]:
    numbers: list[float] = np.random.default_rng(list(text.encode())).standard_normal(DIMENSIONS).tolist()
    return numbers


def word(number: int) -> str:
    return "".join(SYLLABLES[int(digit)] for digit in f"{number:04}")


def subject(number: int) -> str:
    """A word that is in the text of one note only."""
    return f"{word(number)}ville"


def long_text(number: int, length: int) -> str:
    """A text of about that many characters, of which no sentence is in another one."""
    about = subject(number)
    sentence = "The {} crate of {} was weighed at the gate and put on the scales again. "
    count = length // len(sentence.format(about, about))
    return "".join(sentence.format(word(place), about) for place in range(count)).strip()


@pytest.fixture(scope="module")
def slow() -> SlowModel:
    return SlowModel()


@pytest.fixture(scope="module")
def model(slow: SlowModel) -> Iterator[MisbehavingModel]:
    with running_model(slow) as model:
        yield model


@pytest.fixture(scope="module")
def service(model: MisbehavingModel, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    config = write_config(tmp_path_factory.mktemp("slow"), max_note_chars="100000", lease_seconds="5")
    point_embedding(config, model.api_base, timeout_ms=TIMEOUT_MS)
    with RunningService(config) as service:
        yield service
        assert service.complaints() == []


def add_long(service: RunningService, tenant: str, *lengths: int) -> dict[str, str]:
    """Write notes that need not be compared, all in one request; return their texts by id."""
    texts = [long_text(number, length) for number, length in enumerate(lengths)]
    results = service.add(tenant, *(note(text, key=f"note {n}") for n, text in enumerate(texts)))
    return {result["note_id"]: text for result, text in zip(results, texts, strict=True)}


def assert_all_findable(service: RunningService, tenant: str, written: Mapping[str, str]) -> None:
    """Every note is indexed with all its vectors; some are looked for, by their subjects."""
    wait_indexed(service)
    assert sound_vectors(service, tenant) == (written.keys(), written.keys())
    for number, note_id in list(enumerate(written))[::SOME]:
        items = service.search(tenant, f"crate of {subject(number)}", top_k=3, candidate_k=3)
        assert note_id in {item["note_id"] for item in items}


def assert_embedded_once(service: RunningService, slow: SlowModel, tenant: str) -> None:
    chunks = rows(
        service.config.parent,
        "SELECT c.text FROM memory_note_chunks c JOIN memory_notes USING (note_id) WHERE tenant_id = $1",
        tenant,
    )
    times = Counter(slow.worked_on)
    assert {times[chunk["text"]] for chunk in chunks} == {1}


def test_long_notes_are_embedded_once_each_and_in_their_order(
    service: RunningService, slow: SlowModel, tenant: str
) -> None:
    slow.worked_on = []
    written = add_long(service, tenant, *[LONG] * NOTES)
    assert_all_findable(service, tenant, written)
    jobs = rows(
        service.config.parent,
        "SELECT o.note_id::text, attempts FROM indexing_outbox o JOIN memory_notes USING (note_id)"
        " WHERE tenant_id = $1 ORDER BY o.updated_at",
        tenant,
    )
    assert {job["attempts"] for job in jobs} == {0}, "no call ran out of time"
    assert_embedded_once(service, slow, tenant)
    order = list(written)
    places = [order.index(job["note_id"]) for job in jobs]
    assert max(place - done for done, place in enumerate(places)) < MOST_OVERTAKEN


@pytest.mark.parametrize("size", [90_000, LONG])
def test_what_was_embedded_before_the_model_fails_is_not_embedded_again(
    service: RunningService, slow: SlowModel, model: MisbehavingModel, tenant: str, size: int
) -> None:
    """Of one huge note, and of notes of which each is less than a call."""
    slow.worked_on = []
    ways = chain([slow.at_once], repeat(refuses("400 Bad Request")))
    model.misbehave(lambda body, wire: next(ways)(body, wire))
    written = add_long(service, tenant, *[size] * (90_000 // size))
    wait_for(lambda: failures(service, tenant), "a job has failed")
    model.behave()
    assert_all_findable(service, tenant, written)
    assert_embedded_once(service, slow, tenant)


def failures(service: RunningService, tenant: str) -> bool:
    query = "SELECT 1 FROM indexing_outbox JOIN memory_notes USING (note_id) WHERE tenant_id = $1 AND attempts > 0"
    return bool(rows(service.config.parent, query, tenant))
