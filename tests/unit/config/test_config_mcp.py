"""[mcp.context]: what agents that come over MCP cannot choose."""

from __future__ import annotations

from pathlib import Path

import pytest
from spec_template import SPEC_TEMPLATE, FaultsOf

from elf.config import loads

END = "evidence_max_quote_chars = 320\n"


def test_without_the_table_nothing_is_fixed() -> None:
    assert loads(SPEC_TEMPLATE, source="elf.toml").mcp.context.given == {}


def test_each_key_may_be_set_alone_and_empty_is_not_set() -> None:
    text = f'{SPEC_TEMPLATE}\n[mcp.context]\ntenant_id = "acme"\nagent_id = ""\nread_profile = "all_scopes"\n'
    given = loads(text, source="elf.toml").mcp.context.given
    assert given == {"tenant_id": "acme", "read_profile": "all_scopes"}


def test_who_calls_is_no_field_of_a_request() -> None:
    who = 'user = "ana"\nclient = "desk"\nkey_file = "desk.key"'
    context = loads(f'{SPEC_TEMPLATE}\n[mcp.context]\nbutler = "b"\n{who}\n', source="elf.toml").mcp.context
    assert context.fields == {"butler": "b"}


def test_a_relative_key_file_is_beside_the_config(tmp_path: Path) -> None:
    for named, meant in (("desk.key", tmp_path / "desk.key"), ("/keys/desk", Path("/keys/desk"))):
        text = f'{SPEC_TEMPLATE}\n[mcp.context]\nkey_file = "{named}"\n'
        assert Path(loads(text, source="elf.toml", folder=tmp_path).mcp.context.key_file) == meant
    assert loads(SPEC_TEMPLATE, source="elf.toml", folder=tmp_path).mcp.context.key_file == ""


@pytest.mark.parametrize(
    ("line", "key", "problem"),
    [
        ('read_profile = "everything"', "read_profile", "must be empty or one of scopes.read_profiles ("),
        ('tenant_id = " "', "tenant_id", "must be a name of at most 128 characters, or empty"),
        (f'agent_id = "{"a" * 129}"', "agent_id", "must be a name of at most 128 characters, or empty"),
        ('project_id = "项目"', "project_id", "must hold neither CJK characters nor NUL"),
        ('orchestrator_id = "项目"', "orchestrator_id", "must hold neither CJK characters nor NUL"),
        ('scope = "everywhere"', "scope", "must be empty or one of scopes.allowed ("),
        (
            'user = "ana lee"',
            "user",
            "must be a name of at most 128 printable ASCII characters without spaces",
        ),
        ('client = "é"', "client", "must be a name of at most 128 printable ASCII characters without spaces"),
        ('key = "elf_x"', "key", "is not a known key"),
    ],
)
def test_what_the_api_would_refuse_is_a_fault(faults_of: FaultsOf, line: str, key: str, problem: str) -> None:
    faults = faults_of((END, f"{END}\n[mcp.context]\n{line}\n"))
    assert list(faults) == [f"mcp.context.{key}"]
    assert problem in faults[f"mcp.context.{key}"]
