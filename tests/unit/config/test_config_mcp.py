"""[mcp.context]: what agents that come over MCP cannot choose."""

from __future__ import annotations

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


@pytest.mark.parametrize(
    ("line", "key", "problem"),
    [
        ('read_profile = "everything"', "read_profile", "must be empty or one of scopes.read_profiles ("),
        ('tenant_id = " "', "tenant_id", "must be a name of at most 128 characters, or empty"),
        (f'agent_id = "{"a" * 129}"', "agent_id", "must be a name of at most 128 characters, or empty"),
        ('project_id = "项目"', "project_id", "must hold neither CJK characters nor NUL"),
        ('scope = "org_shared"', "scope", ""),
    ],
)
def test_what_the_api_would_refuse_is_a_fault(faults_of: FaultsOf, line: str, key: str, problem: str) -> None:
    faults = faults_of((END, f"{END}\n[mcp.context]\n{line}\n"))
    assert list(faults) == [f"mcp.context.{key}"]
    assert problem in faults[f"mcp.context.{key}"]
