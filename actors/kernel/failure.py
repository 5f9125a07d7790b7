"""How an actor's failure is named, reduced and sent up."""

from __future__ import annotations

from collections.abc import Iterator

DESCRIPTION_LIMIT = 200


class ActorEnded(Exception):
    """An actor's `run` returned although nobody had stopped it."""

    def __init__(self) -> None:
        super().__init__("ended unexpectedly")


class ActorGaveUp(Exception):
    """An actor crashed more often than its policy allows; the last failure is the `__cause__`."""

    def __init__(self, name: str, restarts: int) -> None:
        super().__init__(f"actor {name} gave up after {restarts} restarts")
        self.name = name
        self.restarts = restarts


def unwrapped(error: BaseException) -> BaseException:
    """The failure itself when it is alone in its group (or groups within groups), else the group."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def part_of(error: BaseException, classes: tuple[type[BaseException], ...]) -> BaseException | None:
    """What of `error` is one of `classes`: itself, what matches within a group, or None."""
    if isinstance(error, BaseExceptionGroup):
        part = error.subgroup(classes)
        return None if part is None else unwrapped(part)
    return error if isinstance(error, classes) else None


def described(error: BaseException) -> str:
    """Class name and message, those of every member of a group, in at most 200 characters.

    There is no traceback and no cause in it: it is shown where a stranger may read it.
    """
    text = "; ".join(f"{type(one).__name__}: {one}".removesuffix(": ") for one in _leaves(error))
    return text[:DESCRIPTION_LIMIT]


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for member in error.exceptions:
            yield from _leaves(member)
    else:
        yield error
