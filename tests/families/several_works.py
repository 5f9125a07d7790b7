"""The random work of a family that has several kinds of things: each piece is of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tests.families.work import FamilyWork, WorkClient


class SeveralWorks:
    """Does now this work and now that; a claim is told with the place of its work."""

    def __init__(self, *works: FamilyWork[Any]) -> None:
        self._works = works

    def do(self, client: WorkClient) -> Iterator[tuple[int, Any]]:
        place = client.rng.randrange(len(self._works))
        for claim in self._works[place].do(client):
            yield place, claim

    def problems(self, client: WorkClient, claims: Sequence[tuple[int, Any]]) -> list[str]:
        """Return what each of the works has to say against its own claims."""
        return [
            problem
            for place, work in enumerate(self._works)
            for problem in work.problems(client, [claim for at, claim in claims if at == place])
        ]
