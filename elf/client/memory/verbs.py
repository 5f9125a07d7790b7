"""The verbs of both memories."""

from __future__ import annotations

import copy
from typing import Self

from elf.client.memory.known_doing import KnownDoing
from elf.client.memory.subject import Subject
from elf.client.memory.verb import verb


class Verbs:
    """What Memory does, and AsyncMemory when it is awaited: `_subject` is whom calls are about that do not say."""

    _subject: Subject

    def within(
        self, *, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Self:
        """Return the memory of somebody else, over the same connections; what is not given stays as it is."""
        other = copy.copy(self)
        other._subject = self._subject.with_(user_id, agent_id, run_id)
        return other

    remember = verb(KnownDoing.remember)
    remembered = verb(KnownDoing.remembered)
    recall = verb(KnownDoing.recall)
    context = verb(KnownDoing.context)
    forget = verb(KnownDoing.forget)

    add = verb(KnownDoing.add)
    search = verb(KnownDoing.search)
    get = verb(KnownDoing.get)
    get_all = verb(KnownDoing.get_all)
    update = verb(KnownDoing.update)
    history = verb(KnownDoing.history)
    delete = verb(KnownDoing.delete)
    delete_all = verb(KnownDoing.delete_all)
