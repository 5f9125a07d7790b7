"""The manifests of all families of memory: what they say fits together, and costs nothing to read."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable

import pytest

from actors.families import FAMILIES
from elf.db.queries import sql_folder
from elf.family import Family
from elf.indexing.admin_operations import INDEX_OPERATIONS
from elf.web.admin import COLLECT_GARBAGE

EVERY = pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
OPERATIONS = [COLLECT_GARBAGE, *INDEX_OPERATIONS, *(one for family in FAMILIES for one in family.operations)]
OPERATIONS += [one for family in FAMILIES for one in family.admin_operations]


def doubled(values: Iterable[object]) -> list[object]:
    return [value for value, count in Counter(values).items() if count > 1]


def test_no_two_operations_have_a_name_or_a_way_in_common() -> None:
    assert doubled(operation.name for operation in OPERATIONS) == []
    assert doubled((operation.method, operation.path) for operation in OPERATIONS) == []


@EVERY
def test_every_path_parameter_is_a_field_of_the_request(family: Family) -> None:
    for operation in (*family.operations, *family.admin_operations):
        assert set(operation.path_parameters) <= operation.request.model_fields.keys(), operation.name


@EVERY
def test_a_tool_has_a_name_of_its_own_and_forwards_to_what_everybody_may_ask(family: Family) -> None:
    assert doubled(tool.name for tool in family.tools) == []
    assert all(tool.operation in family.operations for tool in family.tools)


@EVERY
def test_a_tool_tells_of_arguments_that_it_has(family: Family) -> None:
    for tool in family.tools:
        reshaping, request = tool.reshaping, tool.operation.request
        schema = request.model_json_schema() if reshaping is None else reshaping.schema()
        assert tool.arguments.keys() <= schema["properties"].keys(), tool.name


@EVERY
def test_its_folders_are_there(family: Family) -> None:
    assert (sql_folder() / family.name).is_dir()


def test_reading_the_manifests_loads_no_store_and_no_numbers() -> None:
    script = "import sys, actors.families; print(*sorted({'asyncpg', 'numpy', 'httpx', 'quart'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
