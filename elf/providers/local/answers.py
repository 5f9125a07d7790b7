"""What answers by rules in place of a language model: the port between the local chat service and who brings rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from elf.providers.port import Prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalAnswer:
    """Rules that know one prompt, and answer it as a language model would: they read what they need out of its text.

    `model` is the name under which the config asks for them. `answer` is called with prompts that `knows` takes, in a
    thread of its own, and raises ValueError for one that it cannot read after all.
    """

    model: str
    knows: Callable[[Prompt], bool]
    answer: Callable[[Prompt], str]
