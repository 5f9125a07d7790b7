"""The verbs of both memories."""

from __future__ import annotations

from elf.client.memory.known_doing import KnownDoing
from elf.client.memory.verb import verb


class Verbs:
    """What Memory does, and AsyncMemory when it is awaited."""

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
