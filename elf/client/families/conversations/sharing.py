"""Who may see a conversation, and who is to own it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from elf.client.call import Call, Listing, filled, get, post, reader
from elf.client.families.conversations import results as r
from elf.client.families.conversations.wire import (
    TRANSFERS,
    Id,
    PageSize,
    conversation,
    data_of,
    deleted,
    listed,
    nothing,
    told,
)
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

User = Annotated[str, "the user"]
Level = Annotated[r.AccessLevel, "what they may do"]


class Sharing(FamilyClient[C_co]):
    """A level is one in a conversation with all its forks."""

    @method
    def memberships(self, conversation_id: Id) -> Call[Sequence[r.Membership]]:
        """List the members of a conversation. Raises NotFound, Forbidden."""
        return told(get(f"{conversation(conversation_id)}/memberships", {}, data_of(r.Membership)))

    @method
    def share(self, conversation_id: Id, user_id: User, access_level: Level) -> Call[r.Membership]:
        """Give a user a level. Raises NotFound, Forbidden, and InvalidRequest for that of the owner."""
        body = {"userId": user_id, "accessLevel": access_level}
        return told(post(f"{conversation(conversation_id)}/memberships", body, reader(r.Membership)))

    @method
    def change_membership(
        self, conversation_id: Id, user_id: User, access_level: Level
    ) -> Call[r.Membership]:
        """Give a member another level. Raises as `share` does."""
        body = {"accessLevel": access_level}
        return told(post(_member(conversation_id, user_id), body, reader(r.Membership), method="PATCH"))

    @method
    def remove_membership(self, conversation_id: Id, user_id: User) -> Call[None]:
        """Take a user's level away, or leave; one who is no member stays none. Raises as `share` does."""
        return deleted(_member(conversation_id, user_id))

    @method
    def transfers(
        self,
        *,
        role: Annotated[Literal["all", "sender", "recipient"], "as whom (default: all)"] = "all",
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Transfer]:
        """List the transfers in which one takes part, oldest first."""
        return listed(TRANSFERS, {"role": role, "limit": limit}, r.Transfer, cursor)

    @method
    def transfer(
        self, conversation_id: Id, new_owner_user_id: Annotated[str, "a member"]
    ) -> Call[r.Transfer]:
        """Ask a member to take a conversation over. Never sent again: the second one is a Conflict.

        Raises NotFound, Forbidden, Conflict, and InvalidRequest for one who is no member.
        """
        body = {"conversationId": conversation_id, "newOwnerUserId": new_owner_user_id}
        return told(post(TRANSFERS, body, reader(r.Transfer), repeat="never"))

    @method
    def show_transfer(self, transfer_id: Id) -> Call[r.Transfer]:
        """Read a transfer. Raises NotFound."""
        return told(get(_transfer(transfer_id), {}, reader(r.Transfer)))

    @method
    def end_transfer(self, transfer_id: Id) -> Call[None]:
        """Take a transfer back, or refuse it. Sent again as `delete` is. Raises NotFound."""
        return deleted(_transfer(transfer_id))

    @method
    def accept_transfer(self, transfer_id: Id) -> Call[None]:
        """Take a conversation over; who owned it is a manager then. Never sent again. Raises NotFound, Forbidden."""
        return told(post(f"{_transfer(transfer_id)}/accept", {}, nothing, repeat="never"))


def _member(conversation_id: Id, user_id: str) -> str:
    return f"{conversation(conversation_id)}/memberships/{filled('{user_id}', {'user_id': user_id})}"


def _transfer(transfer_id: Id) -> str:
    return filled(f"{TRANSFERS}/{{transfer_id}}", {"transfer_id": transfer_id})
