"""A secret in a note, of any kind and anywhere in it, is refused or blanked by the whole service and never repeated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tests.system.overheard import TABLES, Overheard, leaks, planted_by_kind, strings_in
from tests.system.service import RunningService, add_body, note
from tests.system.truth import listed, wait_indexed
from tests.unit.data.ordinary import ordinary_sentences

MAX_CHARS = {"text": 240, "key": 128, "source_ref": 1000}
GAPS_BEFORE = (". ", "\n", "; ", " - ", ", ", " | ", "! ", "? ")
GAPS_AFTER = (". ", "\n", "; ", ", ", " | ", "! ")
REFS = (
    lambda text: {"said": text},
    lambda text: {"path": ["fine", {"to": [text]}]},
    lambda text: {text: "as a name"},
)
# A failing example has a secret of every kind as it is, and a smaller one takes minutes to find.
GENERATE = (Phase.generate,)
# The digits of an IBAN may pass for those of a card.
SAME = {"iban": ("iban", "card_number")}


@dataclass(frozen=True)
class Carrier:
    """A text with one secret, and the kinds that it may be called."""

    text: str
    kinds: tuple[str, ...]

    def is_called(self, said: str) -> bool:
        return any(said.endswith(f" of kind {kind}") for kind in self.kinds)

    def is_blanked_in(self, value: Any) -> bool:
        return any(f"[REDACTED:{kind}]" in text for text in strings_in(value) for kind in self.kinds)


@cache
def ordinary() -> list[str]:
    return ["", *ordinary_sentences(2000)]


def carriers(kind: str, max_chars: int) -> st.SearchStrategy[Carrier]:
    """A planted secret of a kind, between two ordinary sentences where there is room."""
    texts = [text for text in planted_by_kind()[kind] if len(text) <= max_chars]
    around = st.sampled_from(ordinary())

    def dressed(secret: str, before: str, gap_before: str, gap_after: str, after: str) -> Carrier:
        text = f"{before}{gap_before}{secret}" if before else secret
        text = text if len(text) <= max_chars else secret
        longer = f"{text}{gap_after}{after}" if after else text
        return Carrier(longer if len(longer) <= max_chars else text, SAME.get(kind, (kind,)))

    gaps = st.sampled_from(GAPS_BEFORE), st.sampled_from(GAPS_AFTER)
    return st.builds(dressed, st.sampled_from(texts), around, *gaps, around)


def one_of_each_kind(place: str) -> st.SearchStrategy[tuple[Carrier, ...]]:
    return st.deferred(
        lambda: st.tuples(*[carriers(kind, MAX_CHARS[place]) for kind in sorted(planted_by_kind())])
    )


def between_harmless_ones(notes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for place, one in enumerate(notes):
        if place % 10 == 0:
            yield note(f"Fact: shelf {place} holds jam.", key=f"shelf {place}")
        yield one


def kept_to_itself(service: RunningService, heard: Overheard, secrets: tuple[Carrier, ...]) -> dict[str, str]:
    """Check, once all is indexed, that nothing the service said or stored holds a secret, and return what it said."""
    wait_indexed(service)
    said = heard.everything()
    assert leaks(said, [one.text for one in secrets]) == []
    assert set(said) == {"answers", "log", *TABLES}
    assert "request" in said["log"], "the service logs each request, or this has not heard its log"
    for table in TABLES.keys() - {"memory_ingest_decisions"}:
        assert said[table], f"something harmless was written to {table}"
    return said


@pytest.mark.parametrize("place", ["text", "key"])
@settings(max_examples=3, phases=GENERATE)
@given(data=st.data())
def test_a_secret_of_any_kind_in_a_note_is_refused_and_the_other_notes_are_stored(
    service: RunningService, place: str, data: st.DataObject
) -> None:
    secrets = data.draw(one_of_each_kind(place))
    notes = [note("Fact: tea is hot.", key=one.text) if place == "key" else note(one.text) for one in secrets]
    sent = [*between_harmless_ones(notes)]
    tenant, heard = str(uuid4()), Overheard(service)
    response = service.post("add_note", add_body(tenant, *sent))
    assert response.status_code == 200
    results = list(zip(sent, heard.answer(response)["results"], strict=True))
    refused = [result for one, result in results if one in notes]
    for secret, result in zip(secrets, refused, strict=True):
        assert (result["op"], result["reason_code"]) == ("REJECTED", "REJECT_SECRET"), secret
        assert result["note_id"] is None
        assert secret.is_called(result["reason"]), (secret, result)
    harmless = {result["note_id"]: one["text"] for one, result in results if one not in notes}
    assert listed(service, tenant) == harmless
    said = kept_to_itself(service, heard, secrets)
    assert said["memory_ingest_decisions"].count("REJECT_SECRET") == len(secrets)


@settings(max_examples=3, phases=GENERATE)
@given(secrets=one_of_each_kind("source_ref"), ref=st.sampled_from(REFS))
def test_a_secret_of_any_kind_in_a_reference_is_blanked(
    service: RunningService, secrets: tuple[Carrier, ...], ref: Any
) -> None:
    tenant, heard = str(uuid4()), Overheard(service)
    sent = [
        note("Fact: tea is hot.", key=f"drawer {place}", source_ref=ref(one.text))
        for place, one in enumerate(secrets)
    ]
    response = service.post("add_note", add_body(tenant, *sent))
    assert [result["op"] for result in heard.answer(response)["results"]] == ["ADD"] * len(secrets)
    listing = {"tenant_id": tenant, "project_id": "p", "limit": "200"}
    items = heard.answer(service.client.get("/v1/memory/list", params=listing))["items"]
    stored = {item["key"]: item["source_ref"] for item in items}
    for place, secret in enumerate(secrets):
        assert secret.is_blanked_in(stored[f"drawer {place}"]), secret
    kept_to_itself(service, heard, secrets)


@settings(max_examples=2, phases=GENERATE)
@given(secrets=one_of_each_kind("text"))
def test_a_secret_of_any_kind_never_becomes_a_note_s_new_text(
    service: RunningService, secrets: tuple[Carrier, ...]
) -> None:
    tenant, heard = str(uuid4()), Overheard(service)
    (added,) = service.add(tenant, note("Fact: tea is hot.", key="tea"))
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a", "note_id": added["note_id"]}
    for secret in secrets:
        response = service.post("update", place | {"text": secret.text, "importance": 0.75})
        assert response.status_code == 200
        answer = heard.answer(response)
        assert (answer["op"], answer["reason_code"]) == ("REJECTED", "REJECT_SECRET"), secret
        assert secret.is_called(answer["reason"]), (secret, answer)
    stored = heard.answer(service.client.get(f"/v1/memory/notes/{added['note_id']}"))
    assert (stored["text"], stored["importance"]) == ("Fact: tea is hot.", 0.5)
    history = heard.answer(service.client.get(f"/v1/memory/notes/{added['note_id']}/history"))
    assert [version["op"] for version in history["items"]] == ["ADD"]
    kept_to_itself(service, heard, secrets)


def test_a_secret_that_is_refused_for_its_length_is_not_repeated_either(
    service: RunningService, tenant: str
) -> None:
    heard = Overheard(service)
    (secret,) = [text for text in planted_by_kind()["private_key"] if len(text) > MAX_CHARS["text"]][:1]
    kept = note("Fact: tea is hot.", key="tea")
    results = heard.answer(service.post("add_note", add_body(tenant, note(secret), kept)))["results"]
    assert [result["reason_code"] for result in results] == ["REJECT_TOO_LONG", None]
    refused = service.post("add_note", add_body(tenant, note("Fact: tea is hot.", key=secret)))
    assert refused.status_code == 400
    assert heard.answer(refused)["fields"] == ["$.notes[0].key"]
    kept_to_itself(service, heard, (Carrier(secret, ("private_key",)),))
