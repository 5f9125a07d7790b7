"""Composite keys and compiled filters of the embedded index."""

from __future__ import annotations

import qdrant_edge as engine

from elf.families.notes.keeping.space import NOTES
from elf.index.edge.filters import MAX_KEYS, compile_filter, composite_keys
from elf.index.edge.protocol import WireFilter

KEY_SHAPES = NOTES.combined_fields
CONTEXT = {"tenant_id": "t", "project_id": "p", "status": "active", "embedding_version": "v"}


def compiled_of(must: dict[str, str], any_of: list[dict[str, list[str]]] | None) -> engine.Filter | None:
    return compile_filter(WireFilter(must, any_of), KEY_SHAPES, some_undated=False)


def test_a_point_has_one_key_for_each_shape() -> None:
    keys = composite_keys(CONTEXT | {"scope": "s", "agent_id": "a"}, KEY_SHAPES)
    assert len(set(keys)) == len(KEY_SHAPES)


def test_a_point_without_an_agent_has_only_the_shorter_key() -> None:
    whole = composite_keys(CONTEXT | {"scope": "s", "agent_id": "a"}, KEY_SHAPES)
    assert composite_keys(CONTEXT | {"scope": "s", "agent_id": None}, KEY_SHAPES) == whole[1:]


def test_a_point_of_another_kind_has_no_keys() -> None:
    assert composite_keys({"tenant_id": "t", "scope": 7}, KEY_SHAPES) == []


def test_neighbouring_values_do_not_run_into_each_other() -> None:
    one = composite_keys(CONTEXT | {"tenant_id": "ab", "project_id": "c", "scope": "s"}, KEY_SHAPES)
    two = composite_keys(CONTEXT | {"tenant_id": "a", "project_id": "bc", "scope": "s"}, KEY_SHAPES)
    assert set(one).isdisjoint(two)


def test_the_filter_of_a_search_is_a_lookup_of_keys_alone() -> None:
    compiled = compiled_of(CONTEXT, [{"scope": ["x", "y"]}, {"scope": ["agent_private"], "agent_id": ["a"]}])
    assert compiled is not None
    assert not compiled.must
    assert len(compiled.should or []) == 3


def test_what_no_shape_covers_stays_a_condition_of_its_own() -> None:
    compiled = compiled_of(CONTEXT | {"type": "fact"}, [{"scope": ["x"]}])
    assert compiled is not None
    assert len(compiled.must or []) == 1
    assert len(compiled.should or []) == 1


def test_too_many_combinations_fall_back_to_conditions() -> None:
    agents = [f"agent{number}" for number in range(MAX_KEYS + 1)]
    compiled = compiled_of(CONTEXT, [{"scope": ["agent_private"], "agent_id": agents}])
    assert compiled is not None
    assert len(compiled.must or []) == 1  # the agents
    assert len(compiled.should or []) == 1  # the key of the shorter shape


class Walked(list[str]):
    """Values that are gone through, never searched."""

    def __contains__(self, value: object) -> bool:
        raise AssertionError("thousands of values are not looked through for each of them")


def test_the_trees_of_a_user_are_gone_through_and_not_searched_for_each() -> None:
    compiled = compiled_of({}, [{"tree": Walked(["one", "another", "one"])}])
    assert compiled is not None
    (trees,) = compiled.must or []
    assert isinstance(trees, engine.FieldCondition)
    assert isinstance(trees.match, engine.MatchAny)


def test_an_alternative_keeps_of_what_must_be_what_it_allows() -> None:
    compiled = compiled_of({"tree": "one"}, [{"tree": ["another", "one"]}])
    assert compiled is not None
    (tree,) = compiled.must or []
    assert isinstance(tree, engine.FieldCondition)
    assert isinstance(tree.match, engine.MatchValue)


def test_a_filter_that_cannot_hold_is_none() -> None:
    assert compiled_of({"scope": "x"}, [{"scope": ["y"]}]) is None
    assert compiled_of({}, [{"scope": []}]) is None
    assert compiled_of({"scope": "x"}, []) is None


def test_an_empty_filter_has_no_conditions() -> None:
    compiled = compiled_of({}, None)
    assert compiled is not None
    assert not compiled.must
    assert not compiled.should


def test_what_is_narrower_than_equalities_stands_beside_the_keys() -> None:
    where = WireFilter(CONTEXT, [{"scope": ["x"]}], "deploy/", {"created_at": ("2026-01-01T00:00:00Z", None)})
    for some_undated, conditions in ((False, 2), (True, 1)):  # in the second case as one alternative
        compiled = compile_filter(where, KEY_SHAPES, some_undated=some_undated)
        assert compiled is not None
        assert len(compiled.must or []) == conditions
        assert len(compiled.should or []) == 1
