"""Sessions: a user's names for where lines of entries end, for programs that keep what was said under a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from elf.client.call import Call, Listing, get, post, reader
from elf.client.context import Given
from elf.client.families.conversations import results as r
from elf.client.families.conversations.wire import SESSIONS, Id, PageSize, deleted, listed, told
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ONE = f"{SESSIONS}/one"

SessionId = Annotated[str, "what the user calls it"]
Key = Annotated[str, "what the program that wrote the entry calls it"]
Expected = Annotated[str | None, "the revision that it has to have"]
Before = Annotated[Id | None, "the next_cursor of the page before, which was of newer entries"]


class Sessions(FamilyClient[C_co]):
    """A session goes back without losing what it leaves, and two who change it at once do so one after the other."""

    @method
    def sessions(self, *, limit: PageSize = None, cursor: str | None = None) -> Listing[r.Session]:
        """List one's sessions, written last first."""
        return listed(SESSIONS, {"limit": limit}, r.Session, cursor)

    @method
    def session(
        self, session_id: SessionId, *, limit: PageSize = None, before: Before = None
    ) -> Call[r.ShownSession]:
        """Read a session with its newest entries, oldest first. Raises NotFound, Forbidden."""
        params = {"sessionId": session_id, **_page(limit, before)}
        return told(get(ONE, params, reader(r.ShownSession)))

    @method
    def session_line(self, key: Key, *, limit: PageSize = None, before: Before = None) -> Call[r.Line]:
        """Read the entries up to one of them, oldest first. Raises NotFound, Forbidden."""
        return told(get(f"{SESSIONS}/line", {"key": key, **_page(limit, before)}, reader(r.Line)))

    @method
    def write_session(
        self,
        session_id: SessionId,
        new_entries: Annotated[
            Sequence[Mapping[str, object]],
            "JSON objects with content, and maybe key, contentType and indexedContent",
        ] = (),
        *,
        keep: Annotated[
            Literal["all", "but_newest", "none"],
            "of what it shows all, all but the newest, or nothing (default: all)",
        ] = "all",
        behind: Annotated[Key | None, "instead: all up to the entry of this key"] = None,
        data: Annotated[Mapping[str, object] | None, "a JSON object that it keeps"] = None,
        revision: Annotated[str | None, "what its revision is then"] = None,
        expected_revision: Expected = None,
        is_new: Annotated[bool, "it must not be there yet"] = False,
    ) -> Call[r.WrittenSession]:
        """Add entries to a session, or go back in it; one that is not there yet begins with it.

        Content is one object such as {"role": "USER", "text": "Hello"}. Never sent again, for each adds its entries.
        Raises Forbidden without a client, Conflict, and NotFound for a key or a session that there is not.
        """
        body = {
            "sessionId": session_id, "entries": [*new_entries], "keep": keep, "behind": behind, "data": data,
            "revision": revision, "expectedRevision": expected_revision, "isNew": is_new,
        }  # fmt: skip
        return told(post(ONE, body, reader(r.WrittenSession), repeat="never"))

    @method
    def delete_session(self, session_id: SessionId, *, expected_revision: Expected = None) -> Call[None]:
        """Forget the name; what was said stays a conversation. Raises NotFound, Conflict.

        It is sent again when its answer was lost, and NotFound may mean that it was forgotten then.
        """
        return deleted(ONE, {"sessionId": session_id, "expectedRevision": expected_revision})


def _page(limit: int | None, before: Id | None) -> dict[str, Given]:
    return {"limit": limit, "before": None if before is None else str(before)}
