"""What ops.upstream_tests fetches and tells; the tests of other packages themselves are not run here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ops.upstream_tests.__main__ import show
from ops.upstream_tests.embedder import Characters
from ops.upstream_tests.fetching import version_of
from ops.upstream_tests.packages import PACKAGES, Package

ONE = Package(name="one", distribution="one", version="1.0")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda one: one.name)
def test_every_package_has_a_version_and_either_tests_or_a_reason(package: Package) -> None:
    assert version_of(package)
    assert bool(package.lacking) != bool(package.tests and package.swap)


def test_a_package_that_is_not_pinned_is_refused() -> None:
    with pytest.raises(LookupError, match="no-such-thing is not pinned in constraints-dev"):
        version_of(Package(name="none", distribution="no-such-thing"))


@pytest.mark.parametrize(
    ("outcomes", "is_good"),
    [({"a": "passed", "b": "skipped"}, True), ({"a": "passed", "b": "failed"}, False), ({}, False)],
)
def test_what_fails_and_what_never_ran_is_told(
    outcomes: Mapping[str, Any], is_good: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert show(ONE, {"outcomes": outcomes, "not_applicable": {"links": 2}}) is is_good
    told = capsys.readouterr().out
    assert "2 not applicable" in told
    assert "  not applicable, 2: links" in told
    assert ("  failed: b" in told) is (outcomes.get("b") == "failed")


def test_texts_are_alike_as_far_as_their_characters_are() -> None:
    one, same, like, other = Characters().embed_documents(["tea tea", "ate eat", "teas", "xyz"])

    def cosine(with_one: list[float]) -> float:
        return sum(a * b for a, b in zip(one, with_one, strict=True))

    assert cosine(same) == pytest.approx(1.0)
    assert 1.0 > cosine(like) > cosine(other)
    assert not any(Characters().embed_query(""))
