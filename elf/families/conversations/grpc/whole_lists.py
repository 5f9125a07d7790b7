"""Lists that the family gives whole, page by page for those who ask so; without a size, a page is all the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from elf.families.conversations.api import fields as f
from elf.families.conversations.errors import RuleBroken
from elf.families.conversations.grpc import memory_service_pb2 as pb
from elf.families.conversations.grpc.fields import sparse

T = TypeVar("T")


class Paged(Protocol):
    """A message that may ask for a page."""

    @property
    def page(self) -> pb.PageRequest: ...


class PageOfOnes(f.OneConversation):
    """Of which conversation, and how many of a list that its operation gives whole."""

    page_size: f.WholeLimit | None = None


def size_of(asked: Paged) -> dict[str, Any]:
    """Read how large a page is to be."""
    return sparse(page_size=asked.page.page_size or None)


def page_of_all(
    asked: Paged, items: Sequence[T], key: Callable[[T], object]
) -> tuple[Sequence[T], pb.PageInfo]:
    """Return the page that is asked for, and where the next begins. Raises RuleBroken for a token of no item.

    `key` is what tells an item from the others; the token of a page is that of the last item before it.
    """
    start = _start(asked.page.page_token, [str(key(item)) for item in items])
    end = start + (asked.page.page_size or len(items))
    token = str(key(items[end - 1])) if end < len(items) else ""
    return items[start:end], pb.PageInfo(next_page_token=token)


def _start(token: str, keys: Sequence[str]) -> int:
    if not token:
        return 0
    if token not in keys:
        raise RuleBroken("page_token is none of this listing", fields=["$.page_token"])
    return keys.index(token) + 1
