"""Random work with an assistant's files: each is created, edited, moved and deleted."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tests.families.work import WorkClient

MOST_STEPS: Final = 4

State = tuple[str, str]
"""Where a file is, and what it says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileClaim:
    """A file as it has to be, or one of two ways while a change is on its way; None: it is nowhere.

    `paths` are all at which it has been or was to be: of these it is at one alone.
    """

    paths: frozenset[str]
    states: frozenset[State | None]


class FilesWork:
    """Keeps files of which no two are alike, one client at a time at each."""

    def do(self, client: WorkClient) -> Iterator[FileClaim]:
        _at_home(client)
        now: State | None = None
        then: State | None = (_path(client), f"The boat is called {_word(client)}.\n")
        paths = frozenset[str]()
        change: tuple[str, dict[str, Any]] = (
            "create_assistant_file", {"path": then[0], "file_text": then[1]}
        )  # fmt: skip
        for _ in range(client.rng.randrange(1, MOST_STEPS + 2)):
            paths |= {then[0]} if then else set()
            yield FileClaim(paths=paths, states=frozenset([now, then]))
            client.change(change[0], **change[1])
            yield FileClaim(paths=paths, states=frozenset([then]))
            if then is None:
                return
            now = then
            name, fields, then = _step(client, now)
            change = (name, fields)

    def problems(self, client: WorkClient, claims: Sequence[FileClaim]) -> list[str]:
        """Return what is lost, changed, at two places, or has gaps in its versions."""
        _at_home(client)
        return [problem for claim in claims for problem in _problems(client, claim)]


def _at_home(client: WorkClient) -> None:
    client.place = {"tenant_id": client.place["tenant_id"], "user_id": "ana"}


def _word(client: WorkClient) -> str:
    """A new word; numbers as long might be those of cards, which are blanked."""
    return "".join(client.rng.choices(string.ascii_lowercase, k=16))


def _path(client: WorkClient) -> str:
    return f"/memories/{client.rng.choice('abc')}/{_word(client)}.md"


def _step(client: WorkClient, now: State) -> tuple[str, dict[str, Any], State | None]:
    """Return an operation, its fields, and where the file is then and what it says."""
    path, text = now
    match client.rng.randrange(5):
        case 0:
            return "delete_assistant_file", {"path": path}, None
        case 1:
            to = _path(client)
            return "rename_assistant_file", {"old_path": path, "new_path": to}, (to, text)
        case 2:
            line = f"It is at {_word(client)}.\n"
            # The version keeps the line from being put in twice by who has to ask again.
            version = len(client.ask("list_assistant_file_versions", path=path)["items"])
            fields = {"path": path, "insert_line": 0, "insert_text": line, "expected_version": version}
            return "insert_assistant_file", fields, (path, line + text)
        case _:
            old, new = text.splitlines()[-1], f"The boat is called {_word(client)}."
            return (
                "str_replace_assistant_file", {"path": path, "old_str": old, "new_str": new},
                (path, text.replace(old, new)),
            )  # fmt: skip


def _problems(client: WorkClient, claim: FileClaim) -> Iterator[str]:
    found = {
        (path, client.ask("read_assistant_file", path=path)["text"])
        for path in claim.paths
        if client.finds("read_assistant_file", path=path)
    }
    if found not in [set[State]() if state is None else {state} for state in claim.states]:
        yield f"{sorted(claim.paths)} are {found}, which is none of {set(claim.states)}"
    for path, _ in found:
        items = client.ask("list_assistant_file_versions", path=path)["items"]
        versions = [one["version"] for one in items]
        if versions != [*range(len(versions), 0, -1)]:
            yield f"{path} has the versions {versions}"
