"""Conversations and what is in them: what was said, and what agents remember of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from elf.client.call import Call, Listing, filled, get, post, reader
from elf.client.families.conversations import results as r
from elf.client.families.conversations.wire import ROOT, Id, PageSize, conversation, deleted, listed, told
from elf.client.family import C_co, FamilyClient
from elf.client.json_value import encode
from elf.client.method import method

Mode = Annotated[
    Literal["all", "roots", "latest-fork"],
    "of each tree all, the root, or the one changed last (default: latest-fork)",
]
Which = Annotated[r.Channel | None, "history, or the calling client's memory (default: both)"]
Epoch = Annotated[str | int | None, "of the memory: latest, all, or the number of one (default: latest)"]
WholeTree = Annotated[bool, "of every conversation of its tree"]
Content = Annotated[Sequence[object], "JSON values"]


class Talking(FamilyClient[C_co]):
    """Whoever calls is a user, by `token` or a key that speaks for one; a client by its key has a memory of its own."""

    @method
    def list(
        self,
        *,
        mode: Mode = "latest-fork",
        query: Annotated[str | None, "part of the title, or of a text in the metadata"] = None,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Conversation]:
        """List one's conversations, changed last first."""
        params = {"mode": mode, "query": query, "limit": limit}
        return listed(ROOT, params, r.Conversation, cursor)

    @method
    def create(
        self,
        *,
        title: str | None = None,
        metadata: Annotated[Mapping[str, object] | None, "a JSON object"] = None,
    ) -> Call[r.Conversation]:
        """Begin a conversation. Never sent again, for each begins one."""
        body = {"title": title, "metadata": metadata}
        return told(post(ROOT, body, reader(r.Conversation), repeat="never"))

    @method
    def show(self, conversation_id: Id) -> Call[r.Conversation]:
        """Read a conversation. Raises NotFound, and Forbidden for one who is no member."""
        return told(get(conversation(conversation_id), {}, reader(r.Conversation)))

    @method
    def rename(
        self, conversation_id: Id, title: Annotated[str | None, "the new title"]
    ) -> Call[r.Conversation]:
        """Give a conversation a title, None for none. Raises NotFound, Forbidden."""
        call = post(conversation(conversation_id), {}, reader(r.Conversation), method="PATCH")
        return told(replace(call, content=encode({"title": title})))  # a null counts here

    @method
    def delete(self, conversation_id: Id) -> Call[None]:
        """Delete a conversation with all its forks. Raises NotFound, and Forbidden for one who does not own it.

        It is sent again when its answer was lost, and NotFound may mean that it was deleted then.
        """
        return deleted(conversation(conversation_id))

    @method
    def entries(
        self,
        conversation_id: Id,
        *,
        channel: Which = None,
        epoch: Epoch = None,
        whole_tree: WholeTree = False,
        limit: PageSize = None,
        cursor: str | None = None,
    ) -> Listing[r.Entry]:
        """List what a conversation shows, oldest first. Raises NotFound, Forbidden."""
        params = {
            "channel": channel, "epoch": epoch, "forks": "all" if whole_tree else None, "limit": limit,
        }  # fmt: skip
        return listed(f"{conversation(conversation_id)}/entries", params, r.Entry, cursor)

    @method
    def context(
        self,
        conversation_id: Id,
        *,
        max_chars: Annotated[int | None, "most characters of content (default: 40000)"] = None,
    ) -> Call[r.Context]:
        """Read what an agent's next call needs: its memory, else the history, the newest that fits.

        Raises NotFound, Forbidden.
        """
        path = f"{conversation(conversation_id)}/context"
        return told(get(path, {"maxChars": max_chars}, reader(r.Context)))

    @method
    def append(
        self,
        conversation_id: Id,
        content: Content,
        *,
        content_type: Annotated[str, "what it is (default: history)"] = "history",
        channel: Annotated[r.Channel | None, "history or memory (default: memory with a client)"] = None,
        user_id: Annotated[str | None, "whose it is"] = None,
        indexed_content: Annotated[str | None, "the text by which it is found"] = None,
        forked_at_conversation_id: Annotated[Id | None, "a new conversation is a fork of this one"] = None,
        forked_at_entry_id: Annotated[
            Id | None, "the fork has the entries before this one (default: none)"
        ] = None,
    ) -> Call[r.Entry]:
        """Append an entry; a conversation of an id that there is not begins with it.

        Content of a history is one object such as {"role": "USER", "text": "Hello"}. Never sent again, for each
        appends one. Raises Forbidden, and NotFound for one that was deleted.
        """
        body = {
            "channel": channel, "contentType": content_type, "content": content, "userId": user_id,
            "indexedContent": indexed_content, "forkedAtConversationId": forked_at_conversation_id,
            "forkedAtEntryId": forked_at_entry_id,
        }  # fmt: skip
        path = f"{conversation(conversation_id)}/entries"
        return told(post(path, body, reader(r.Entry), repeat="never"))

    @method
    def sync(
        self,
        conversation_id: Id,
        content: Annotated[Sequence[object], "all that the client remembers, as JSON values"],
        *,
        content_type: Annotated[str, "what it is (default: application/json)"] = "application/json",
        user_id: Annotated[str | None, "whose it is"] = None,
    ) -> Call[r.Synced]:
        """Say all that the calling client remembers of a conversation; what is new is written.

        What does not go on from what was remembered begins an epoch. Raises NotFound, and Forbidden without a client.
        """
        body = {"channel": "memory", "contentType": content_type, "content": content, "userId": user_id}
        return told(post(f"{conversation(conversation_id)}/entries/sync", body, reader(r.Synced)))

    @method
    def fork(
        self,
        conversation_id: Id,
        entry_id: Annotated[Id, "the fork has all that comes before this entry"],
        *,
        title: Annotated[str | None, "(default: that of the conversation)"] = None,
    ) -> Call[r.Conversation]:
        """Fork a conversation at an entry that it shows. Never sent again. Raises NotFound, Forbidden."""
        path = f"{conversation(conversation_id)}/entries/{filled('{entry_id}', {'entry_id': entry_id})}/fork"
        return told(post(path, {"title": title}, reader(r.Conversation), repeat="never"))

    @method
    def forks(
        self, conversation_id: Id, *, limit: PageSize = None, cursor: str | None = None
    ) -> Listing[r.Fork]:
        """List the conversations of a tree, the root first. Raises NotFound, Forbidden."""
        return listed(f"{conversation(conversation_id)}/forks", {"limit": limit}, r.Fork, cursor)

    @method
    def cancel_response(self, conversation_id: Id) -> Call[None]:
        """Stop the answer that is being recorded, if there is one. Raises NotFound, Forbidden, Conflict."""
        return deleted(f"{conversation(conversation_id)}/response")
