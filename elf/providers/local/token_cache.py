"""An LRU of token vectors by text, bounded in bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from blake3 import blake3

from elf.providers.token_vectors import TokenVectors

# A digest, the objects around the bytes and a dictionary entry, measured.
_OVERHEAD_BYTES = 480


class TokenCacheStatistics(NamedTuple):
    """What the cache holds and how often it helped."""

    entries: int
    bytes: int
    hits: int
    misses: int


class TokenCache:
    """Keeps the token vectors of the texts seen last. Safe to use from many threads.

    Every embedding pass fills it, so reranking a text that was just indexed costs no pass. A capacity of 0
    bytes keeps nothing.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity = capacity_bytes
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, TokenVectors] = OrderedDict()
        self._bytes = 0
        self._hits = 0
        self._misses = 0

    def get_many(self, texts: Iterable[str]) -> list[TokenVectors | None]:
        """Return the vectors of each text, None where they are not kept."""
        keys = [_key(text) for text in texts]
        with self._lock:
            found = [self._entries.get(key) for key in keys]
            for key, vectors in zip(keys, found, strict=True):
                if vectors is not None:
                    self._entries.move_to_end(key)
            hits = sum(vectors is not None for vectors in found)
            self._hits += hits
            self._misses += len(found) - hits
        return found

    def put_many(self, entries: Iterable[tuple[str, TokenVectors]]) -> None:
        """Keep vectors, dropping those unused for longest when the bytes run out."""
        keyed = [(_key(text), vectors) for text, vectors in entries]
        with self._lock:
            for key, vectors in keyed:
                self._put(key, vectors)

    def statistics(self) -> TokenCacheStatistics:
        with self._lock:
            return TokenCacheStatistics(len(self._entries), self._bytes, self._hits, self._misses)

    def _put(self, key: bytes, vectors: TokenVectors) -> None:
        replaced = self._entries.pop(key, None)
        if replaced is not None:
            self._bytes -= _size(replaced)
        self._entries[key] = vectors
        self._bytes += _size(vectors)
        while self._bytes > self._capacity:
            _, dropped = self._entries.popitem(last=False)
            self._bytes -= _size(dropped)


def _key(text: str) -> bytes:
    return blake3(text.encode("utf-8", "surrogatepass")).digest()


def _size(vectors: TokenVectors) -> int:
    return len(vectors.content) + _OVERHEAD_BYTES
