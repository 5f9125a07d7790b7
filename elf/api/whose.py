"""Which user of a tenant somebody asks about: their own, and every one of the tenant where no user is proven."""

from __future__ import annotations

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied

USER_PATH = "$.user_id"


def user_asked_for(
    user_id: str | None,
    caller: Caller,
    *,
    proves_users: bool,
    path: str = USER_PATH,
    what: str = "this memory",
) -> str:
    """Return the user that is asked for. Where nobody proves who they are, a user's name is only a default.

    Raises ScopeDenied, naming the path, when it is another user's, and InvalidRequest when nobody says whose.
    """
    if user_id is None:
        if caller.user is None:
            raise InvalidRequest(f"{path}: is required, as the caller has no user", fields=[path])
        return caller.user
    if proves_users and caller.user is not None and caller.user != user_id:
        raise ScopeDenied(f"{path}: {what} belongs to another user", fields=[path])
    return user_id
