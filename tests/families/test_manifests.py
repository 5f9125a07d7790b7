"""The manifests of all families of memory: what they say fits together, and costs nothing to read."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from actors.families import FAMILIES as OF_THE_PRODUCT
from elf.cli.arguments import parser
from elf.client.families import FAMILY_CLIENTS
from elf.client.family import methods_of
from elf.config.example import example_file
from elf.config.load import load
from elf.config.model import Config
from elf.config.tables import TABLES
from elf.core.errors import StartupError
from elf.db.queries import Queries
from elf.db.schema import schema_steps
from elf.family import Family, families_on, refuse_doubles, tables_of
from elf.indexing.admin_operations import INDEX_OPERATIONS
from elf.outbox.admin_operations import JOB_OPERATIONS
from elf.web.admin import COLLECT_GARBAGE
from tests.families.every import PROOFS, SERVICE_ROWS
from tests.families.fronts import PREFIXES
from tests.families.served import FAMILIES

EVERY = pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
NOTES = FAMILIES[0]
BINDING = {"tenant_id", "project_id", "agent_id", "read_profile"}
HOUSE = replace(
    NOTES,
    name="house",
    operations=(),
    admin_operations=[COLLECT_GARBAGE, *INDEX_OPERATIONS, *JOB_OPERATIONS],
    tools=(),
)


def test_no_two_families_have_a_name_or_a_way_in_common() -> None:
    refuse_doubles([*FAMILIES, HOUSE])


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"name": "notes"}, "two families are called notes"),
        ({"operations": NOTES.operations[:1]}, "two operations are called add_note"),
        (
            {"operations": [replace(NOTES.operations[3], name="other", path="/v1/memory/notes/{other_id}")]},
            "two operations are called GET /v1/memory/notes/{}",
        ),
        ({"tools": NOTES.tools[:1], "mcp": "/mcp"}, "two tools are called memory_add_note at /mcp"),
    ],
)
def test_a_second_of_one_name_is_refused_at_the_start(other: dict[str, object], said: str) -> None:
    base = replace(NOTES, name="other", operations=(), admin_operations=(), tools=(), mcp="")
    refuse_doubles([NOTES, base])
    with pytest.raises(StartupError) as caught:
        refuse_doubles([NOTES, replace(base, **other)])
    assert str(caught.value).startswith(said)


def test_a_tool_may_be_called_as_one_at_another_path() -> None:
    base = replace(NOTES, name="other", operations=(), admin_operations=(), mcp="")
    refuse_doubles([NOTES, base])
    assert base.mcp_path == "/mcp/other"


@EVERY
def test_its_name_is_free_in_the_config_and_on_the_command_line(family: Family) -> None:
    assert re.fullmatch(r"[a-z][a-z_]*", family.name)
    assert family.table is None or family.name not in Config.model_fields
    own = [client for client in FAMILY_CLIENTS if client.name != family.name]
    usage = parser(own).format_help()
    assert not re.search(rf"^    {family.name}\b", usage, re.MULTILINE)


@EVERY
def test_every_path_parameter_is_a_field_of_the_request(family: Family) -> None:
    for operation in (*family.operations, *family.admin_operations):
        assert set(operation.path_parameters) <= operation.request.model_fields.keys(), operation.name


@EVERY
def test_what_is_of_somebody_can_be_bound_to_its_caller(family: Family) -> None:
    """Binding fills fields by their names, so whatever reads or changes somebody's memory has these.

    What is done for a user alone is of the user's own tenant, which no request names.
    """
    (proof,) = (proof for proof in PROOFS if proof.family is family)
    of_nobody = {name for row in proof.rows if row.whole_service for name in row.names}
    for operation in (*family.operations, *family.admin_operations):
        fields = operation.request.model_fields
        is_users = operation.needs_user
        assert is_users or operation.name in of_nobody or "tenant_id" in fields, operation.name
        aliases = {name: fields[name].validation_alias for name in BINDING & fields.keys()}
        assert not any(aliases.values()), operation.name


@EVERY
def test_a_tool_forwards_to_what_everybody_may_ask(family: Family) -> None:
    assert all(tool.operation in family.operations for tool in family.tools)


@EVERY
def test_a_tool_tells_of_arguments_that_it_has(family: Family) -> None:
    for tool in family.tools:
        reshaping, request = tool.reshaping, tool.operation.request
        schema = request.model_json_schema() if reshaping is None else reshaping.schema()
        assert tool.arguments.keys() <= schema["properties"].keys(), tool.name


@EVERY
def test_its_statements_and_the_steps_of_its_schema_are_there(family: Family) -> None:
    assert schema_steps([(family.name, family.sql_folder)])[0].name.startswith("001")
    assert Queries.load(family.sql_folder)


@EVERY
def test_what_it_offers_stands_in_the_isolation_table(family: Family) -> None:
    (proof,) = (proof for proof in PROOFS if proof.family is family)
    rows = {name for row in (*SERVICE_ROWS, *proof.rows) for name in row.names}
    prefix = PREFIXES.get(family.mcp_path, "")
    offered = {one.name for one in (*family.operations, *family.admin_operations)}
    offered |= {prefix + tool.name for tool in family.tools}
    assert offered - rows == set()


@EVERY
def test_it_has_a_client_of_its_name_and_notes_are_called_by_those_of_the_service(family: Family) -> None:
    (proof,) = (proof for proof in PROOFS if proof.family is family)
    assert (proof.client is None) == (family is NOTES)
    assert proof.client is None or (proof.client.name, bool(methods_of(proof.client))) == (family.name, True)


def test_every_family_of_the_product_is_proven_and_has_its_table_in_the_config() -> None:
    assert set(map(id, OF_THE_PRODUCT)) <= set(map(id, FAMILIES))
    assert tables_of(OF_THE_PRODUCT) == TABLES
    assert families_on(OF_THE_PRODUCT, load(example_file())) == OF_THE_PRODUCT


def test_every_family_of_the_product_but_notes_is_called_by_its_client_and_its_commands() -> None:
    of_the_product = [proof.client for proof in PROOFS if proof.family in OF_THE_PRODUCT]
    assert [*FAMILY_CLIENTS] == [client for client in of_the_product if client is not None]


def test_reading_the_manifests_loads_no_store_and_no_numbers() -> None:
    heavy = "{'asyncpg', 'numpy', 'httpx', 'werkzeug'}"
    script = f"import sys, actors.families; print(*sorted({heavy} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
