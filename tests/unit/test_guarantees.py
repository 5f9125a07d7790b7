"""The tests that docs/guarantees.md names for each promise are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

REPO = Path(__file__).parents[2]
NAMED = re.findall(
    r"^- `(tests/\S+?\.py)(?:::(\w+))?`$", (REPO / "docs/guarantees.md").read_text(), re.MULTILINE
)
PROMISES = (REPO / "docs/guarantees.md").read_text().split("\n## ")[1:]


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_test_that_keeps_a_promise_exists(path: str, name: str) -> None:
    functions = {
        node.name
        for node in ast.walk(ast.parse((REPO / path).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not name or name in functions


@pytest.mark.parametrize("promise", PROMISES, ids=[promise.splitlines()[0] for promise in PROMISES])
def test_every_promise_names_a_test(promise: str) -> None:
    assert "\n- `tests/" in promise
