"""What operators ask of all conversations of their tenant: auditors may read, admins change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from math import inf
from typing import Annotated, Literal
from urllib.parse import urlencode

from elf.client.call import Call, Listing, Stream, filled, get, post, reader
from elf.client.context import Given
from elf.client.families.conversations import results as r
from elf.client.families.conversations.finding import SearchType, Ungrouped, WithoutEntry, searched
from elf.client.families.conversations.talking import Mode, WholeTree
from elf.client.families.conversations.wire import Id, PageSize, data_of, listed, nothing, said, told
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ADMIN = "/v1/admin/conversations"
EVICT = "/v1/admin/evict"

Why = Annotated[str | None, "why it is asked; kept in the log"]
Moment = Annotated[datetime | str | None, "a moment of ISO 8601"]
Erasable = Annotated[Literal["user", "agent", "tenant"], "what is erased: user, agent or tenant"]
Whose = Annotated[str, "the user, the client that the agent is, or the tenant that is one's own"]
Period = Annotated[str, "how long ago it was deleted: a duration of ISO 8601, such as P90D"]


class Operating(FamilyClient[C_co]):
    """Each call is told in the service's log, with its justification. All raise Forbidden without the role."""

    @method
    def admin_list(
        self,
        *,
        mode: Mode = "latest-fork",
        user_id: Annotated[str | None, "whose they are"] = None,
        include_deleted: Annotated[bool, "those that are deleted, too"] = False,
        only_deleted: Annotated[bool, "those that are deleted, and no others"] = False,
        deleted_after: Moment = None,
        deleted_before: Moment = None,
        justification: Why = None,
        limit: Annotated[int | None, "how many a page, up to 1000, or what the service is set to"] = None,
        cursor: str | None = None,
    ) -> Listing[r.Conversation]:
        """For auditors: list conversations of whomever, changed last first."""
        params: dict[str, Given] = {
            "mode": mode, "userId": user_id, "includeDeleted": said(include_deleted),
            "onlyDeleted": said(only_deleted), "deletedAfter": _moment(deleted_after),
            "deletedBefore": _moment(deleted_before), "justification": justification, "limit": limit,
        }  # fmt: skip
        return listed(ADMIN, params, r.Conversation, cursor)

    @method
    def admin_show(self, conversation_id: Id, *, justification: Why = None) -> Call[r.Conversation]:
        """For auditors: read a conversation of whomever, a deleted one, too. Raises NotFound."""
        return told(get(_any(conversation_id), {"justification": justification}, reader(r.Conversation)))

    @method
    def admin_entries(
        self,
        conversation_id: Id,
        *,
        channel: Annotated[r.Channel | None, "history or memory (default: both)"] = None,
        whole_tree: WholeTree = False,
        justification: Why = None,
        limit: Annotated[int | None, "how many a page, up to 1000, or what the service is set to"] = None,
        cursor: str | None = None,
    ) -> Listing[r.Entry]:
        """For auditors: list the entries of a conversation, of every client and epoch. Raises NotFound."""
        params: dict[str, Given] = {
            "channel": channel, "forks": "all" if whole_tree else None, "justification": justification,
            "limit": limit,
        }  # fmt: skip
        return listed(f"{_any(conversation_id)}/entries", params, r.Entry, cursor)

    @method
    def admin_memberships(
        self, conversation_id: Id, *, justification: Why = None
    ) -> Call[Sequence[r.Membership]]:
        """For auditors: list the members of a conversation. Raises NotFound."""
        path, why = f"{_any(conversation_id)}/memberships", {"justification": justification}
        return told(get(path, why, data_of(r.Membership)))

    @method
    def admin_forks(self, conversation_id: Id, *, justification: Why = None) -> Call[Sequence[r.Fork]]:
        """For auditors: list the conversations of a tree. Raises NotFound."""
        path, why = f"{_any(conversation_id)}/forks", {"justification": justification}
        return told(get(path, why, data_of(r.Fork)))

    @method
    def admin_search(
        self,
        query: Annotated[str, "what was spoken of"],
        *,
        search_type: SearchType = "auto",
        user_id: Annotated[str | None, "whose conversations"] = None,
        include_deleted: Annotated[bool, "deleted ones, too"] = False,
        all_entries: Ungrouped = False,
        without_entry: WithoutEntry = False,
        justification: Why = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.SearchResult]:
        """For auditors: search conversations of whomever, best first. Raises as `search` does."""
        body = {
            "query": query, "searchType": search_type, "userId": user_id, "includeDeleted": include_deleted,
            "groupByConversation": not all_entries, "includeEntry": not without_entry, "limit": limit,
        }  # fmt: skip
        why = "" if justification is None else f"?{urlencode({'justification': justification})}"
        return searched(f"{ADMIN}/search{why}", body, cursor)

    @method
    def admin_delete(self, conversation_id: Id, *, justification: Why = None) -> Call[None]:
        """For admins: delete a conversation with all its forks. Raises NotFound."""
        call = post(_any(conversation_id), {"justification": justification}, nothing)
        return told(replace(call, method="DELETE"))

    @method
    def admin_restore(self, conversation_id: Id, *, justification: Why = None) -> Call[r.Conversation]:
        """For admins: bring a deleted conversation back; its owner is a member again, nobody else is.

        Never sent again. Raises NotFound, and Conflict for one that is not deleted.
        """
        path, body = f"{_any(conversation_id)}/restore", {"justification": justification}
        return told(post(path, body, reader(r.Conversation), repeat="never"))

    @method
    def evict(self, retention_period: Period, *, justification: Why = None) -> Stream[r.EvictionProgress]:
        """For admins: remove for good what was deleted long ago, and tell how far that is; the last says 100.

        Who leaves stops it; what is done stays done. Sent again only when the first request surely did nothing.
        """
        call = post(f"{EVICT}?async=true", _evicting(retention_period, justification),
                    reader(r.EvictionProgress), repeat="undone")  # fmt: skip
        return Stream(told(replace(call, timeout_s=inf)))

    @method
    def evict_all(self, retention_period: Period, *, justification: Why = None) -> Call[None]:
        """For admins: the same, which returns when all of it is gone."""
        call = post(EVICT, _evicting(retention_period, justification), nothing)
        return told(replace(call, timeout_s=inf))

    @method
    def erase(self, what: Erasable, name: Whose, *, justification: Why = None) -> Call[r.Erased]:
        """For admins: erase all of a user, of an agent, or of the tenant for good, what is deleted, too.

        Of a user the conversations it owns go whole, with their forks, and what it said in others is blanked; of an
        agent what it remembers goes. What is erased already is no error.
        """
        body = {"what": what, "name": name, "justification": justification}
        return told(replace(post(f"{ADMIN}/erase", body, reader(r.Erased)), timeout_s=inf))


def _any(conversation_id: Id) -> str:
    return filled(f"{ADMIN}/{{conversation_id}}", {"conversation_id": conversation_id})


def _moment(given: datetime | str | None) -> str | None:
    return given.isoformat() if isinstance(given, datetime) else given


def _evicting(period: str, why: str | None) -> dict[str, object]:
    return {"retentionPeriod": period, "resourceTypes": ["conversations"], "justification": why}
