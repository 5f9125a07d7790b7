"""Searching what was said, and the texts by which it is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from elf.client.call import Call, Listing, get, post, reader
from elf.client.families.conversations import results as r
from elf.client.families.conversations.wire import ROOT, PageSize, found_page, page_of, told
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

SearchType = Annotated[
    Literal["auto", "semantic", "fulltext"], "by meaning, by words, or both (default: auto)"
]
Ungrouped = Annotated[bool, "every entry, not only the best of each conversation"]
WithoutEntry = Annotated[bool, "without the entries themselves"]


class Finding(FamilyClient[C_co]):
    """Found are entries of histories that have a text to be found by: see `index`."""

    @method
    def search(
        self,
        query: Annotated[str, "what was spoken of"],
        *,
        search_type: SearchType = "auto",
        all_entries: Ungrouped = False,
        without_entry: WithoutEntry = False,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.SearchResult]:
        """Search one's conversations, best first. Raises NotOffered for a type that the service is not set up for.

        A page is a SearchPage, which tells what could not help with it.
        """
        body = {
            "query": query, "searchType": search_type, "groupByConversation": not all_entries,
            "includeEntry": not without_entry, "limit": limit,
        }  # fmt: skip
        return searched(f"{ROOT}/search", body, cursor)

    @method
    def index(
        self,
        entries: Annotated[
            Sequence[Mapping[str, object]], "JSON with conversationId, entryId and indexedContent"
        ],
    ) -> Call[r.Indexed]:
        """For indexers: say by which texts entries are found, all of them or none. Raises NotFound, Forbidden."""
        return told(post(f"{ROOT}/index", [*entries], reader(r.Indexed), whole="entries"))

    @method
    def unindexed(self, *, limit: PageSize = None, cursor: str | None = None) -> Listing[r.UnindexedEntry]:
        """For indexers: list entries that have no text to be found by, oldest first. Raises Forbidden."""
        read = page_of(r.UnindexedEntry)
        params = {"limit": limit}
        return Listing(
            lambda cursor: told(get(f"{ROOT}/unindexed", {**params, "cursor": cursor}, read)), cursor
        )


def searched(path: str, body: Mapping[str, object], cursor: str | None) -> Listing[r.SearchResult]:
    """Make a listing whose pages are searches that differ in `after`."""
    return Listing(lambda cursor: told(post(path, {**body, "after": cursor}, found_page)), cursor)
