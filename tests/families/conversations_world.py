"""What a user has in conversations, and what of it others must not be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import uuid4

from tests.families.conversations_callers import ANA, CALLERS, OWNER, REMOVED, friend
from tests.families.fronts import Fronts
from tests.families.rows import COLLEAGUE, NARROW, Caller, Kind
from tests.system.service import wait_for

MEMORY_TYPE: Final = "LC4J"
LISTED: Final = 200
IDS: Final = (
    "conversation", "fork", "entry", "later", "memory", "written", "doomed", "spare", "gone", "transfer", "ended",
    "given", "session", "key",
)  # fmt: skip
HEIR: Final = friend("heir")
GUEST: Final = friend("guest")
GIVER: Final = friend("giver")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationsWorld:
    """What a user has: a conversation with a fork, others to be written to, deleted or transferred, and transfers.

    The history holds the `word`, and the memory, which is that of one client alone, the `secret`. All but the `later`
    entry of the conversation is indexed; `cursor` is behind the first result of a search for the word. `heir` is a
    member of all of them; `guest` of the conversation, and may be removed. `gone` is deleted. `given` is a transfer to
    the user, `ended` and `transfer` are by the user. `session` is a name for a line whose one entry has the `key`.
    """

    fronts: Fronts
    place: Mapping[str, str]
    word: str
    secret: str
    conversation: str
    fork: str
    entry: str
    later: str
    memory: str
    written: str
    doomed: str
    spare: str
    transfer: str
    ended: str
    given: str
    gone: str
    session: str
    key: str
    cursor: str = ""

    @property
    def ids(self) -> Mapping[str, str]:
        return {name: getattr(self, name) for name in IDS}

    def user(self, one: Caller) -> str:
        """The id of a user."""
        return user_id(one, self.place)

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        if kind in (COLLEAGUE, NARROW):
            return [self.secret, self.memory]
        return [self.word, self.secret, self.user(HEIR), *self.ids.values()]

    def unknown(self, kind: Kind) -> ConversationsWorld:
        hidden = {*self.hidden_from(kind)}
        return replace(self, **{name: str(uuid4()) for name, id in self.ids.items() if id in hidden})

    def of(self, caller: Caller) -> ConversationsWorld:
        return self

    def ask(self, name: str, *, by: Caller = OWNER, **arguments: Any) -> Any:
        """Return what a user of this world is answered."""
        reply = self.fronts.public.ask(
            name, arguments, headers=by.headers(self.fronts.identities, self.place)
        )
        assert reply.ok, f"{name}: {reply.text}"
        return reply.body

    def state(self) -> object:
        """Every conversation with all that is in it, and every transfer."""
        listed = self.ask("list_conversations", mode="all", limit=LISTED)["data"]
        sessions = self.ask("list_sessions", limit=LISTED)["data"]
        lines = [self.ask("read_session", sessionId=one["id"], limit=LISTED) for one in sessions]
        return [self.ask("list_transfers"), lines, *([one, *self._of(one["id"])] for one in listed)]

    def _of(self, id: str) -> list[object]:
        everything = {"forks": "all", "epoch": "all", "limit": LISTED}
        return [
            self.ask("get_conversation", conversationId=id),
            self.ask("list_conversation_entries", conversationId=id, **everything),
            self.ask("list_memberships", conversationId=id),
            self.ask("list_forks", conversationId=id),
        ]


def user_id(one: Caller, place: Mapping[str, str]) -> str:
    """The id of a user who is a friend of an owner."""
    return one.says["Authorization"].removeprefix("Bearer ").format(**place)


def settle(fronts: Fronts, callers: Sequence[Caller] = CALLERS) -> ConversationsWorld:
    """Give a new user conversations; where nobody is asked who calls, all users are of one tenant."""
    mark = uuid4().hex[:12]
    user = f"{ANA}-{mark}" if fronts.identities is None else ANA
    place = {"tenant_id": f"owner {mark}", "user": user}
    world = ConversationsWorld(
        fronts=fronts, place=place, word=f"w{mark}", secret=f"s{mark}", **dict.fromkeys(IDS, "")
    )
    settled = _with_session(_with_transfers(_with_conversations(world)))
    return replace(settled, cursor=wait_for(lambda: _cursor(settled), "all is found by its meaning"))


def _cursor(world: ConversationsWorld) -> str | None:
    """Where the second page of a search begins, once there is one."""
    found = world.ask("search_conversations", query=world.word, searchType="semantic", limit=1)
    cursor: str | None = found["nextCursor"]
    return cursor


def _with_conversations(world: ConversationsWorld) -> ConversationsWorld:
    conversation = str(uuid4())
    remembered = {"channel": "memory", "contentType": MEMORY_TYPE, "content": [{"text": world.secret}]}
    # First of all, for a title or a preview would be made of it if anything were.
    memory = world.ask("append_entry", conversationId=conversation, **remembered)["id"]
    hello = f"Hello {world.word}"
    said = [_say(world, conversation, hello, hello), _say(world, conversation, f"How are you, {world.word}")]
    named = {"title": f"Trip {world.word}", "metadata": {"place": world.word}}
    written, doomed, spare, gone = (world.ask("create_conversation", **named)["id"] for _ in range(4))
    world.ask("delete_conversation", conversationId=gone)
    _say(world, written, hello, hello)
    fork = world.ask("fork_conversation", conversationId=conversation, entryId=said[1])["id"]
    for one in (conversation, written, doomed, spare):
        _share(world, one, HEIR, "writer")
    _share(world, conversation, GUEST, "reader")
    _share(world, conversation, REMOVED, "writer")
    world.ask("delete_membership", conversationId=conversation, userId=world.user(REMOVED))
    return replace(
        world, conversation=conversation, fork=fork, entry=said[0], later=said[1], memory=memory, written=written,
        doomed=doomed, spare=spare, gone=gone,
    )  # fmt: skip


def _with_session(world: ConversationsWorld) -> ConversationsWorld:
    session, key = f"chat {uuid4()}", f"key {uuid4()}"
    said = {"key": key, "content": [{"role": "AI", "text": f"Hello {world.word}"}]}
    world.ask("write_session", sessionId=session, entries=[said], data={"word": world.word})
    return replace(world, session=session, key=key)


def _with_transfers(world: ConversationsWorld) -> ConversationsWorld:
    asked = [world.conversation, world.written]
    transfer, ended = (
        world.ask("create_transfer", conversationId=one, newOwnerUserId=world.user(HEIR))["id"]
        for one in asked
    )
    theirs = world.ask("create_conversation", by=GIVER, title=f"Gift {world.word}")["id"]
    _share(world, theirs, OWNER, "reader", by=GIVER)
    given = world.ask("create_transfer", by=GIVER, conversationId=theirs, newOwnerUserId=world.place["user"])[
        "id"
    ]
    return replace(world, transfer=transfer, ended=ended, given=given)


def _say(world: ConversationsWorld, conversation: str, text: str, indexed: str | None = None) -> str:
    """Have the client say something, and by what it is found."""
    said = {"channel": "history", "contentType": "history", "content": [{"role": "AI", "text": text}]}
    if indexed is not None:
        said["indexedContent"] = indexed
    return str(world.ask("append_entry", conversationId=conversation, **said)["id"])


def _share(world: ConversationsWorld, conversation: str, one: Caller, level: str, by: Caller = OWNER) -> None:
    world.ask(
        "share_conversation", by=by, conversationId=conversation, userId=world.user(one), accessLevel=level
    )
