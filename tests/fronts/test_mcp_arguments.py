"""What the schema of a tool allows is done, or refused for a reason and at an argument that the agent can see."""

from __future__ import annotations

import re
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from elf.families.notes.api.tools import TOOLS
from elf.mcp.api import Api, client_of_app
from elf.mcp.toolbox import Toolbox
from tests.fronts.mcp_kit import NAMES, config_with, failure, within
from tests.system.service import RunningService

EXAMPLES = 12
REASONS = {"INVALID_REQUEST", "NON_ENGLISH_INPUT", "NOT_FOUND", "SCOPE_DENIED"}
WORDS = st.sampled_from(
    ["The kettle is blue.", "blue_kettle", "00000000-0000-4000-8000-000000000000", "", " ", "好き"]
)


def values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """What a schema allows, as far as those of tools go."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return WORDS | st.text(max_size=20)
        case "number":
            return st.sampled_from([0, 0.5, 1, -1, 30, 1e300])
        case "integer":
            return st.integers(-1, 101)
        case "boolean":
            return st.booleans()
        case "array":
            return st.lists(values(schema["items"]), max_size=3)
    parts = {name: values(part) for name, part in schema.get("properties", {}).items()}
    if not parts:
        return st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=2)
    required = {name: parts.pop(name) for name in schema["required"]}
    return st.fixed_dictionaries(required, optional=parts)


@pytest.mark.parametrize("name", sorted(NAMES))
def test_what_a_schema_allows_is_done_or_refused_at_an_argument(
    service: RunningService, tenant: str, name: str
) -> None:
    place = {"tenant_id": tenant, "project_id": "p", "agent_id": "a"}
    schema = Toolbox(config_with(**place), Api(client_of_app(None)), TOOLS).input_schema(name)
    assert schema is not None
    asked = 0
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(within(service, **place)) as client,
    ):

        @seed(1)
        @settings(max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate])
        @given(values(schema))
        def ask(arguments: dict[str, Any]) -> None:
            nonlocal asked
            asked += 1
            Draft202012Validator(schema).validate(arguments)
            result = portal.call(client.call_tool, name, arguments)
            if result.is_error:
                body = failure(result)
                assert body["error_code"] in REASONS, body
                at = {re.split(r"[.\[]", path)[1] for path in body["fields"] if path != "$"}
                assert at <= schema["properties"].keys(), body

        ask()
    assert asked >= EXAMPLES
