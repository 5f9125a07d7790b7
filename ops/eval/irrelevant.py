"""Questions that nothing in a chat answers, made of the questions of a set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Literal

from ops.eval.chats import Chat, naming

Kind = Literal["answerable", "other chat", "same names", "other person"]
ANSWERABLE: Kind = "answerable"
UNANSWERABLE: tuple[Kind, ...] = ("other chat", "same names", "other person")


@dataclass(frozen=True)
class Asked:
    """A question as it is asked in a chat, and what kind of question it is there; `id` is that of the original."""

    chat: str
    id: str
    text: str
    kind: Kind


def questions(chats: Sequence[Chat]) -> Iterator[Asked]:
    """Yield each chat's own questions, and those that nothing in it answers."""
    for chat in chats:
        yield from (Asked(chat.name, one.id, one.text, ANSWERABLE) for one in chat.questions)
        yield from _other_person(chat)
        for other in chats:
            if other is not chat:
                yield from (Asked(chat.name, one.id, one.text, "other chat") for one in other.questions)
                yield from _same_names(chat, other)


def _same_names(chat: Chat, other: Chat) -> Iterator[Asked]:
    """The questions of another chat that name its people, with people of this chat in their place."""
    names = stand_ins(other.people, chat.people)
    for question in other.questions:
        if (text := renamed(question.text, names)) != question.text:
            yield Asked(chat.name, question.id, text, "same names")


def _other_person(chat: Chat) -> Iterator[Asked]:
    """The questions that name one person of their chat, with another one in their place."""
    if len(chat.people) < 2:
        return
    names = dict(zip(chat.people, chat.people[1:] + chat.people[:1], strict=True))
    pattern = naming(names)
    for question in chat.questions:
        if len(set(pattern.findall(question.text))) == 1:
            yield Asked(chat.name, question.id, renamed(question.text, names), "other person")


def stand_ins(people: Sequence[str], others: Sequence[str]) -> dict[str, str]:
    """Return who of `others` stands for whom of `people`, in turn; nobody when there are no others."""
    return dict(zip(people, cycle(others), strict=False))


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Return a text with every name replaced that is a key, as a word of its own, all at once."""
    return naming(names).sub(lambda found: names[found[0]], text)
