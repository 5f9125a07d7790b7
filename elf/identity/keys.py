"""The keys of client programs."""

from __future__ import annotations

from collections.abc import Iterable
from hmac import compare_digest

from elf.config.auth import ApiKey
from elf.core.api_key import hash_of
from elf.identity.refusal import Refused


class Keys:
    """The keys of a config, known by their hashes alone."""

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self._by_hash = {key.hash: key for key in keys}

    def of(self, sent: str) -> ApiKey:
        """Return the key that is sent. Raises Refused for any other, and tells nothing of how near it comes.

        Who sends a key cannot choose its hash, so how long a look-up by the hash takes tells nothing of those here.
        """
        digest = hash_of(sent)
        found = self._by_hash.get(digest)
        if found is None or not compare_digest(found.hash, digest):
            raise Refused("unknown_key", "X-API-Key is no key of this service")
        return found
