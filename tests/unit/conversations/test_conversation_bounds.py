"""The bounds of conversations: what they are, and operations that have others."""

from __future__ import annotations

from elf.config.tables.conversations import Bounds
from elf.core.slices import at_once
from elf.families.conversations.api import entries as e
from elf.families.conversations.api.operations import OPERATIONS, operations_of
from elf.families.conversations.api.tools import TOOLS, tools_of
from elf.families.conversations.rules.words import TSVECTOR_BYTES, spacing
from elf.web.openapi import PUBLIC, openapi_document
from tests.documented_bounds import documented_bounds

RAISED = Bounds(
    body_bytes=2_000_000,
    entry_body_bytes=9_000_000,
    title_chars=501,
    user_id_chars=256,
    content_type_chars=128,
    query_chars=1001,
    indexed_content_chars=100_001,
    metadata_bytes=65_537,
    content_items=10_001,
    content_levels=65,
    index_batch=1001,
    limit=201,
    admin_limit=1001,
)
DOCUMENTED = Bounds.model_fields.keys() - {"metadata_bytes", "content_levels"}


def test_without_a_config_they_are_those_that_clients_count_on() -> None:
    assert Bounds().model_dump() == {
        "body_bytes": 1_048_576, "entry_body_bytes": 8_388_608, "title_chars": 500, "user_id_chars": 255,
        "content_type_chars": 127, "query_chars": 1000, "indexed_content_chars": 100_000, "metadata_bytes": 65_536,
        "content_items": 10_000, "content_levels": 64, "index_batch": 1000, "limit": 200, "admin_limit": 1000,
    }  # fmt: skip
    assert documented_bounds(openapi_document(OPERATIONS, PUBLIC)) == Bounds().model_dump(include=DOCUMENTED)


def test_operations_and_tools_of_the_standard_are_as_they_are_written_down() -> None:
    assert operations_of(Bounds()) == OPERATIONS
    assert tools_of(Bounds()) == TOOLS


def test_a_document_tells_raised_bounds_and_nothing_else_of_it_changes() -> None:
    raised = openapi_document(operations_of(RAISED), PUBLIC)
    assert documented_bounds(raised) == RAISED.model_dump(include=DOCUMENTED)
    assert raised["components"]["schemas"].keys() == _document().keys()


def _document() -> dict[str, object]:
    schemas: dict[str, object] = openapi_document(OPERATIONS, PUBLIC)["components"]["schemas"]
    return schemas


def test_a_request_with_raised_bounds_is_one_for_its_handlers() -> None:
    (append,) = (one for one in operations_of(RAISED) if one.name == e.APPEND.name)
    assert issubclass(append.request, e.CreateEntry)
    assert append.request.model_fields.keys() == e.CreateEntry.model_fields.keys()
    assert (append.json_bounds.depth, append.json_bounds.string_chars) == (65, 9_000_000)


def test_tools_tell_how_many_items_a_page_may_have() -> None:
    told = {tool.arguments["limit"] for tool in tools_of(RAISED) if "limit" in tool.arguments}
    assert told == {"How many at most, 1 to 201."}


def test_of_a_text_that_no_tsvector_holds_the_words_stay_that_come_first() -> None:
    words = [f"{number:06d}" for number in range(100_000)]
    kept = at_once(spacing(" ".join([*words, words[0]]))).split()
    assert kept == [*words[: TSVECTOR_BYTES // 11], words[0]]
