"""What was said, as it is kept until every family is done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

import msgspec

from elf.api.caller import Caller
from elf.core.conversation_names import conversation_id_of, id_of_names
from elf.core.digests import digest_of_json
from elf.core.structs import read_value
from elf.memory.api import remembering as r
from elf.memory.asking import Asking
from elf.offers import Message, Said, Subject


def said_of(request: r.RememberMessages, messages: Sequence[Message], asking: Asking) -> Said:
    """Return what a request says; of the same request_id by the same it is always the same.

    The id of its conversation is that which the name stood for at first.
    """
    subject = asking.subject
    given = request.request_id
    id = uuid4() if given is None else id_of_names("request", subject.tenant_id, *asking.whose, given)
    conversation = str(id) if request.conversation is None else request.conversation
    return Said(
        id=id,
        subject=subject,
        conversation=conversation,
        conversation_id=conversation_id_of(subject.tenant_id, subject.user, conversation),
        messages=messages,
    )


def digest_of(request: r.RememberMessages, messages: Sequence[Message]) -> bytes:
    """Return the digest of all that is said, however it is asked for."""
    said = [{"role": one.role, "content": one.text, "id": one.id, "at": one.at} for one in messages]
    return digest_of_json({"messages": said, "conversation": request.conversation})


def kept(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return messages as they are stored."""
    return [msgspec.to_builtins(one) for one in messages]


def read(row: Mapping[str, Any]) -> Said:
    """Read what is stored, which nobody is done with yet."""
    return Said(
        id=row["said_id"],
        subject=Subject(
            tenant_id=row["tenant_id"], user=row["user_id"], agent_id=row["agent_id"], project_id=row["project_id"]
        ),
        conversation=row["conversation"],
        conversation_id=row["conversation_id"],
        messages=[read_value(one, Message) for one in row["messages"]],
    )  # fmt: skip


def who(caller: Caller) -> dict[str, Any]:
    """Return what has to be known of a caller to do something for it later."""
    return {
        "user": caller.user,
        "is_default_user": caller.is_default_user,
        "client": caller.client,
        "roles": sorted(caller.roles),
        "bound": dict(caller.bound),
        "denied": dict(caller.denied),
    }


def caller_of(kept: Mapping[str, Any]) -> Caller:
    """Return the caller for whom something is done later."""
    return Caller(
        user=kept["user"],
        is_default_user=kept["is_default_user"],
        client=kept["client"],
        roles=frozenset(kept["roles"]),
        bound=kept["bound"],
        denied=kept["denied"],
    )
