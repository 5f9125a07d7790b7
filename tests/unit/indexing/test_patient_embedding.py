"""Embedding many texts: one that cannot be embedded holds up no other, and the calls made in vain are bounded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.chunking import Chunk
from elf.core.errors import ProviderBroken, ProviderRefused, ProviderUnavailable, ServiceError
from elf.indexing.chunks import Subject
from elf.indexing.embedding import EmbeddedText
from elf.indexing.patient_embedding import (
    MOST_OUTAGES,
    MOST_REFUSALS,
    Done,
    Waiting,
    embed_patiently,
)
from tests.notes_kit import NOW, unit

pytestmark = pytest.mark.anyio

REFUSAL = ProviderRefused("too long", provider_status=413)
NONSENSE = ProviderBroken("no JSON")
SILENCE = ProviderUnavailable("no answer in time")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Model:
    """Embeds texts but the poisonous ones, which fail the whole call; `calls` are the texts of each call."""

    def __init__(self, poison: dict[str, ServiceError | None] | None = None) -> None:
        self.poison = poison or {}
        self.calls: list[list[str]] = []
        self.kept: list[list[str]] = []

    async def embed(self, subjects: Sequence[Subject]) -> Sequence[EmbeddedText | None]:
        self.calls.append([one.text for one in subjects])
        for one in subjects:
            if (error := self.poison.get(one.text)) is not None:
                raise error
        return [
            None if one.text in self.poison else EmbeddedText([Chunk(0, 0, 1, "x")], np.stack([unit(1.0)]))
            for one in subjects
        ]

    async def keep(self, done: Done) -> None:
        self.kept.append([one.text for one, _ in done])

    async def round(
        self, waiting: Sequence[Waiting], *, rng: Callable[[], float] = lambda: 1.0
    ) -> dict[str, ServiceError]:
        """Embed, and return the failures by text."""
        texts = {one.subject.subject_id: one.subject.text for one in waiting}
        failed = await embed_patiently(waiting, self.embed, self.keep, rng=rng)
        return {texts[subject_id]: error for subject_id, error in failed.items()}

    @property
    def done(self) -> list[str]:
        return [text for batch in self.kept for text in batch]


def a_subject(text: str) -> Subject:
    return Subject(
        subject_id=uuid4(),
        text=text,
        created_at=NOW,
        changed_at=NOW,
        is_active=True,
        expires_at=None,
        embedding_version="v",
        row={},
    )


def waiting(count: int, *, failures: int = 0) -> list[Waiting]:
    return [Waiting(a_subject(f"{failures}/{number}"), failures) for number in range(count)]


async def test_notes_that_never_failed_are_one_call() -> None:
    model = Model()
    assert await model.round(waiting(32)) == {}
    assert [len(call) for call in model.calls] == [32]


async def test_of_a_batch_that_is_refused_only_the_note_it_is_about_fails() -> None:
    model = Model({"0/20": REFUSAL})
    assert await model.round(waiting(32)) == {"0/20": REFUSAL}
    assert len(model.done) == 31
    assert len(model.calls) <= 2 * 5 + 1


async def test_a_text_without_a_vector_fails_alone_and_costs_no_call_more() -> None:
    model = Model({"0/3": None})
    failed = await model.round(waiting(8))
    assert list(failed) == ["0/3"]
    assert isinstance(failed["0/3"], ProviderUnavailable)
    assert len(model.done) == 7
    assert len(model.calls) == 1


async def test_a_key_that_is_refused_fails_the_batch_like_silence() -> None:
    model = Model({"0/20": ProviderRefused("wrong key", provider_status=401)})
    assert len(await model.round(waiting(32))) == 32
    assert len(model.calls) == 1


async def test_a_batch_without_an_answer_fails_at_once_and_its_notes_come_back_one_by_one() -> None:
    model = Model({"0/0": SILENCE})
    assert len(await model.round(waiting(8))) == 8
    assert len(model.calls) == 1
    again = [Waiting(one.subject, 1) for one in waiting(7)[1:]]
    assert await model.round(again) == {}
    assert [len(call) for call in model.calls[1:]] == [1, 2, 3], "after each answer twice as many"


async def test_what_failed_least_often_comes_first_by_an_even_lot() -> None:
    model = Model()
    mixed = [*waiting(1, failures=9), *waiting(1, failures=2), *waiting(2), *waiting(1, failures=5)]
    await model.round(mixed)
    assert model.calls == [["0/0", "0/1"], ["2/0"], ["5/0", "9/0"]]


@pytest.mark.parametrize(("error", "most"), [(SILENCE, MOST_OUTAGES), (REFUSAL, MOST_REFUSALS)])
@pytest.mark.parametrize("failures", [0, 3])
async def test_a_model_that_serves_nobody_is_soon_left_alone(
    error: ServiceError, most: int, failures: int
) -> None:
    batch = [*waiting(100), *waiting(100, failures=3)] if failures else waiting(200)
    model = Model({one.subject.text: error for one in batch})
    failed = await model.round(batch)
    assert set(failed) == {one.subject.text for one in batch}
    assert len(model.calls) <= most
    assert model.done == []


async def test_what_keeping_raises_is_raised() -> None:
    async def keep(done: Done) -> None:
        raise SILENCE

    with pytest.raises(ProviderUnavailable):
        await embed_patiently(waiting(2), Model().embed, keep)


ERRORS: dict[str, Callable[[], ServiceError | None]] = {
    "refusal": lambda: REFUSAL, "nonsense": lambda: NONSENSE, "silence": lambda: SILENCE, "no vector": lambda: None,
}  # fmt: skip


@given(
    st.lists(st.sampled_from(["healthy", *ERRORS]), min_size=1, max_size=24),
    st.lists(st.integers(0, 6), min_size=24, max_size=24),
    st.integers(0, 2**32),
)
async def test_every_note_is_embedded_or_failed_and_every_healthy_one_is_embedded_in_the_end(
    kinds: list[str], failures: list[int], seed: int
) -> None:
    notes = [a_subject(f"{number}") for number in range(len(kinds))]
    model = Model({str(place): ERRORS[kind]() for place, kind in enumerate(kinds) if kind != "healthy"})
    healthy = {str(place) for place, kind in enumerate(kinds) if kind == "healthy"}
    lot = Random(seed)
    left = [Waiting(note, count) for note, count in zip(notes, failures, strict=False)]
    rounds = 0
    while healthy - set(model.done):
        before = len(model.done)
        failed = await model.round(left, rng=lot.random)
        texts = {one.subject.text for one in left}
        assert set(failed) | set(model.done[before:]) == texts
        assert not set(failed) & set(model.done)
        left = [Waiting(one.subject, one.failures + 1) for one in left if one.subject.text in failed]
        rounds += 1
        assert rounds <= 300
    assert sorted(model.done) == sorted(set(model.done)), "no note is embedded twice"
