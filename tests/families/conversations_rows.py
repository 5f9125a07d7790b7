"""What of a user's conversations somebody could be after, by which operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import uuid4

from tests.families.conversations_world import GUEST, HEIR, MEMORY_TYPE, ConversationsWorld
from tests.families.fronts import Reply
from tests.families.rows import COLLEAGUE, EVERYBODY, FOREIGN, NARROW, STRANGER, Attempt, Kind, Row

Told = Callable[[ConversationsWorld], Any]
OUTSIDE: Final = frozenset({FOREIGN, STRANGER})
OF_THE_USER: Final = frozenset({COLLEAGUE, NARROW})
INDEXERS: Final = dict.fromkeys(
    [STRANGER, COLLEAGUE, NARROW], "indexers read and index all histories of their tenant"
)
OPERATORS: Final = dict.fromkeys(
    [STRANGER, COLLEAGUE, NARROW], "operators see all conversations of their tenant"
)
TALK: Final = {"channel": "history", "contentType": "history", "content": [{"role": "AI", "text": "Hi"}]}


def _id(name: str) -> Told:
    return lambda world: getattr(world, name)


def _value(world: ConversationsWorld, value: Any) -> Any:
    return value(world) if callable(value) else value


def _attempt(
    label: str,
    *,
    by: frozenset[Kind] = EVERYBODY,
    sees: bool = False,
    refused: frozenset[Kind] = frozenset(),
    forbidden: frozenset[Kind] = frozenset(),
    check: Callable[[Reply, Any], str | None] | None = None,
    **fields: Any,
) -> Attempt:
    return Attempt(
        label=label,
        arguments=lambda world, own: {name: _value(world, value) for name, value in fields.items()},
        refused=refused,
        forbidden=forbidden,
        tried_by=by,
        owner_sees=sees,
        check=check,
    )


def _reading(label: str, **fields: Any) -> Attempt:
    """Something to be told of the conversation, which others of the tenant are forbidden to know."""
    ids = {"conversationId": _id("conversation")} | fields
    return _attempt(
        label, sees=True, refused=frozenset({FOREIGN}), forbidden=frozenset({STRANGER}), **ids
    )  # fmt: skip


def _behind(label: str, **fields: Any) -> Attempt:
    """A page behind the memory of a client, which is no place for anybody else."""
    refused = frozenset({FOREIGN, COLLEAGUE, NARROW})
    ids = {"conversationId": _id("conversation"), "after": _id("memory")} | fields
    return _attempt(label, refused=refused, forbidden=frozenset({STRANGER}), **ids)


def _changing(label: str, **fields: Any) -> Attempt:
    """Something to be done to what the user has, which she may do by any client."""
    return _attempt(
        label, by=OUTSIDE, refused=frozenset({FOREIGN}), forbidden=frozenset({STRANGER}), **fields
    )


def _reads(name: str, *attempts: Attempt, tool: str = "") -> Row:
    return Row(names=(name, tool) if tool else (name,), attempts=attempts)


def _changes(name: str, *attempts: Attempt) -> Row:
    return Row(
        names=(name,),
        attempts=attempts,
        open_to=dict.fromkeys(OF_THE_USER, "the user may do it, by whatever client"),
    )


def _operators(name: str, role: str, *attempts: Attempt) -> Row:
    return Row(names=(name,), role=role, open_to=OPERATORS, attempts=attempts)


def _of_any(label: str, *, sees: bool = True, name: str = "conversation", **fields: Any) -> Attempt:
    """Something to be told of a conversation, or done to it, which is not there for operators of others."""
    return _attempt(label, sees=sees, refused=frozenset({FOREIGN}), conversationId=_id(name), **fields)


def _is_done_anew(reply: Reply, own: Any) -> str | None:
    return "is told that the memory of another client is the same" if reply.body["noOp"] else None


READING: Final = (
    Row(names=("conversations_health",), whole_service="it tells that the service is up", open_to_nobody=True),
    _reads(
        "list_conversations",
        _attempt("all", sees=True, mode="all", limit=200),
        _attempt("by a word of the metadata", sees=True, query=_id("word"), mode="all"),
        _attempt("by a word of the memory", query=_id("secret"), mode="all"),
        _attempt("behind the conversation", refused=OUTSIDE, after=_id("conversation"), mode="all"),
        tool="conversation_list",
    ),
    _reads("get_conversation", _reading("by id"), _reading("the fork", conversationId=_id("fork"))),
    _reads(
        "list_conversation_entries",
        _reading("of the conversation"),
        _reading("of the whole tree", conversationId=_id("fork"), forks="all", epoch="all"),
        _attempt(
            "its memory", sees=True, conversationId=_id("conversation"), channel="memory",
            refused=frozenset({FOREIGN}), forbidden=frozenset({STRANGER, NARROW}),
        ),
        _behind("behind the memory"),
        _behind("of the tree behind the memory", forks="all"),
    ),
    _reads(
        "read_conversation_context",
        _reading("of the conversation"),
        _reading("of the fork", conversationId=_id("fork")),
        tool="conversation_context",
    ),
    _reads("list_forks", _reading("of the conversation")),
    _reads("list_sessions", _attempt("all", sees=True), _attempt("behind one", refused=OUTSIDE, after=_id("session"))),
    _reads("read_session", _attempt("by name", sees=True, refused=OUTSIDE, sessionId=_id("session"))),
    _reads("read_session_line", _attempt("by key", sees=True, refused=OUTSIDE, key=_id("key"))),
    _reads("list_memberships", _reading("of the conversation")),
    _reads("list_transfers", _attempt("all", sees=True)),
    _reads("get_transfer", _attempt("by id", sees=True, refused=OUTSIDE, transferId=_id("transfer"))),
    _reads(
        "search_conversations",
        *(
            _attempt(f"{way} by its word", sees=True, query=_id("word"), searchType=way)
            for way in ("fulltext", "semantic", "auto")
        ),
        _attempt("by what a client remembers", query=_id("secret")),
        _attempt(
            "behind a page of the user", refused=OUTSIDE, query=_id("word"), searchType="semantic",
            after=_id("cursor"),
        ),
        tool="conversation_search",
    ),
    Row(
        names=("list_unindexed_entries",), role="indexer", open_to=INDEXERS,
        attempts=[_attempt("all", sees=True, limit=200)],
    ),
)  # fmt: skip

OVERSEEING: Final = (
    _operators(
        "admin_list_conversations", "auditor",
        _attempt("all", sees=True, mode="all", limit=1000),
        _attempt("of the user", sees=True, userId=lambda world: world.place["user"], mode="all"),
        _attempt("deleted ones", sees=True, onlyDeleted=True),
        _attempt("behind the conversation", refused=frozenset({FOREIGN}), after=_id("conversation"), mode="all"),
    ),
    _operators(
        "admin_get_conversation", "auditor", _of_any("by id"), _of_any("a deleted one", name="gone"),
    ),
    _operators(
        "admin_list_entries", "auditor", _of_any("of the conversation"), _of_any("of the whole tree", forks="all"),
        _of_any("behind an entry", after=_id("memory"), sees=False),
    ),
    _operators("admin_list_memberships", "auditor", _of_any("of the conversation")),
    _operators("admin_list_forks", "auditor", _of_any("of the conversation")),
    _operators(
        "admin_search_conversations", "auditor",
        *(
            _attempt(f"{way} by its word", sees=True, query=_id("word"), searchType=way)
            for way in ("fulltext", "semantic", "auto")
        ),
        _attempt("of the user", sees=True, query=_id("word"), userId=lambda world: world.place["user"]),
        _attempt("by what a client remembers", query=_id("secret"), includeDeleted=True),
    ),
)  # fmt: skip

OPERATING: Final = (
    _operators("admin_delete_conversation", "admin", _of_any("one that is deleted", sees=False, name="doomed")),
    _operators("admin_restore_conversation", "admin", _of_any("a deleted one", sees=False, name="gone")),
    Row(
        names=("admin_evict",), role="admin", open_to=OPERATORS,
        attempts=[_attempt("what is old", retentionPeriod="P1000D", resourceTypes=["conversations"])],
    ),
    _operators(
        "admin_erase_conversations", "admin", _attempt("a user whom nobody knows", what="user", name="nobody at all"),
    ),
)  # fmt: skip

CHANGING: Final = (
    _changes("create_conversation", _attempt("another", by=OUTSIDE, title="Trip")),
    _changes("update_conversation", _changing("its title", conversationId=_id("conversation"), title="Mine")),
    Row(
        names=("fork_conversation",),
        attempts=[
            _changing("at an entry", conversationId=_id("conversation"), entryId=_id("later")),
            _attempt(
                "at what a client remembers", conversationId=_id("conversation"), entryId=_id("memory"),
                refused=frozenset({FOREIGN, COLLEAGUE, NARROW}), forbidden=frozenset({STRANGER}),
            ),
        ],
    ),
    Row(
        names=("sync_entries",),
        attempts=[
            _attempt(
                "what another client remembers", conversationId=_id("conversation"), channel="memory",
                contentType=MEMORY_TYPE, content=lambda world: [{"text": world.secret}],
                refused=frozenset({FOREIGN}), forbidden=frozenset({STRANGER, NARROW}), check=_is_done_anew,
            )
        ],
    ),
    _changes(
        "append_entry",
        # Of another tenant it is a conversation of its own that begins with it.
        _attempt(
            "to a conversation", by=OUTSIDE, forbidden=frozenset({STRANGER}), conversationId=_id("written"), **TALK
        ),
        _changing(
            "to a fork that begins with it", conversationId=lambda world: str(uuid4()),
            forkedAtConversationId=_id("conversation"), forkedAtEntryId=_id("entry"), **TALK,
        ),
    ),
    Row(
        names=("write_session",),
        attempts=[
            _attempt("back in it", by=OUTSIDE, refused=OUTSIDE, sessionId=_id("session"), keep="but_newest"),
            _attempt(
                "behind an entry", by=OUTSIDE, refused=OUTSIDE, sessionId=lambda world: str(uuid4()), behind=_id("key")
            ),
        ],
        open_to=dict.fromkeys(OF_THE_USER, "the user may do it, by whatever client"),
    ),
    _changes("delete_session", _attempt("by name", by=OUTSIDE, refused=OUTSIDE, sessionId=_id("session"))),
    _changes(
        "share_conversation",
        _changing("with oneself", conversationId=_id("spare"), userId="user-user", accessLevel="manager"),
    ),
    _changes(
        "update_membership",
        _changing(
            "of a member", conversationId=_id("conversation"), userId=lambda world: world.user(HEIR),
            accessLevel="manager",
        ),
    ),
    _changes(
        "delete_membership",
        _changing("of a member", conversationId=_id("conversation"), userId=lambda world: world.user(GUEST)),
    ),
    _changes(
        "create_transfer",
        _changing("to a member", conversationId=_id("spare"), newOwnerUserId=lambda world: world.user(HEIR)),
    ),
    _changes("delete_transfer", _changing("by id", transferId=_id("ended"))),
    _changes("accept_transfer", _changing("by id", transferId=_id("given"))),
    Row(
        names=("index_entries",), role="indexer", open_to=INDEXERS,
        attempts=[
            _attempt(
                "an entry", refused=frozenset({FOREIGN}),
                entries=lambda world: [
                    {"conversationId": world.conversation, "entryId": world.entry, "indexedContent": "hello"}
                ],
            )
        ],
    ),
    _changes("cancel_response", _changing("of a conversation", conversationId=_id("conversation"))),
    _changes("delete_conversation", _changing("by id", conversationId=_id("doomed"))),
)  # fmt: skip

ROWS: Final = (*READING, *OVERSEEING, *CHANGING, *OPERATING)
