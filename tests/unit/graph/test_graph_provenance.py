"""What a source has to name by its type, and which files it may name."""

from __future__ import annotations

import os.path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elf.core.errors import InvalidRequest, ScopeDenied
from elf.families.graph.model import SOURCE_TYPES, Source, SourceType
from elf.families.graph.rules.provenance import (
    check_fields,
    check_path,
    is_canonical,
    is_granted,
    lies_in,
    missing_fields,
)

paths = st.lists(st.sampled_from(["/", "a", "b", "..", ".", "\0"]), max_size=8).map("".join)
places = st.lists(st.sampled_from(["a", "b", "ab"]), max_size=3).map(lambda parts: "/" + "/".join(parts))


@pytest.mark.parametrize(
    ("source_type", "missing"),
    [
        ("workflow_output", ["workflowRunId", "stepId"]),
        ("channel_transcript", ["conversationId"]),
        ("ingest_file", ["sourcePath"]),
        ("diagnostics", []),
        ("manual", []),
    ],
)
def test_each_source_type_has_to_name_where_it_is_from(source_type: SourceType, missing: list[str]) -> None:
    source = Source(source_type=source_type, captured_by="system")
    assert missing_fields(source) == missing
    if missing:
        with pytest.raises(InvalidRequest) as refused:
            check_fields(source, at="$.memories[0].source")
        assert refused.value.fields == tuple(f"$.memories[0].source.{name}" for name in missing)
    else:
        check_fields(source, at="$.memories[0].source")


@pytest.mark.parametrize("source_type", SOURCE_TYPES)
def test_a_source_that_names_everything_lacks_nothing(source_type: SourceType) -> None:
    source = Source(
        source_type=source_type, captured_by="user", source_path="/a/b", conversation_id="c", workflow_run_id="r",
        step_id="s",
    )  # fmt: skip
    assert missing_fields(source) == []


def test_only_what_is_missing_is_named() -> None:
    source = Source(source_type="workflow_output", captured_by="system", workflow_run_id="run")
    assert missing_fields(source) == ["stepId"]


@given(path=paths)
def test_a_canonical_path_stays_as_it_is_when_it_is_resolved_without_links(path: str) -> None:
    plain = path.startswith("/") and "\0" not in path
    parts = path[1:].split("/")
    assert is_canonical(path) is (plain and (path == "/" or not {"", ".", ".."}.intersection(parts)))


@given(path=places, folder=places)
def test_a_path_lies_in_the_folders_above_it(path: str, folder: str) -> None:
    assert lies_in(path, folder) is (path != folder and os.path.commonpath([path, folder]) == folder)


def test_a_folder_whose_name_begins_alike_is_another_one() -> None:
    assert not lies_in("/work/space-2/file", "/work/space")


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("notes.md", "/ws/notes.md"),
        ("/ws/../etc/passwd", "/etc/passwd"),
        ("/ws//notes.md", "/ws/notes.md"),
        ("/ws/notes.md/", "/ws/notes.md"),
        ("//ws/notes.md", "/ws/notes.md"),
        ("/ws/missing.md", None),
        ("/ws/link.md", "/etc/passwd"),
    ],
)
def test_a_path_that_is_not_the_real_one_of_a_file_is_an_invalid_request(path: str, real: str | None) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_path(path, real=real, folders=["/ws"], at="$.source.sourcePath")
    assert refused.value.fields == ("$.source.sourcePath",)


def test_a_file_outside_of_what_is_granted_is_out_of_scope() -> None:
    with pytest.raises(ScopeDenied) as refused:
        check_path(
            "/etc/passwd", real="/etc/passwd", folders=["/ws", "/shared/docs"], at="$.source.sourcePath"
        )
    assert refused.value.fields == ("$.source.sourcePath",)


@pytest.mark.parametrize("path", ["/ws/notes.md", "/shared/docs/a/b.txt"])
def test_a_file_in_a_folder_of_the_orchestrator_or_granted_to_it_may_be_named(path: str) -> None:
    check_path(path, real=path, folders=["/ws", "/shared/docs"], at="$.source.sourcePath")


@pytest.mark.parametrize(
    ("path", "real", "granted"),
    [
        ("/ws/notes.md", "/ws/notes.md", True),
        ("/ws/notes.md", "/etc/passwd", False),
        ("/ws/notes.md", "/shared/docs/notes.md", False),
        ("/gone/notes.md", "/gone/notes.md", False),
        ("/gone/notes.md", "/ws/notes.md", False),
    ],
)
def test_a_path_may_be_named_still_while_it_lies_and_leads_into_what_is_granted(
    path: str, real: str, granted: bool
) -> None:
    assert is_granted(path, real=real, folders=["/ws", "/shared/docs"]) is granted
