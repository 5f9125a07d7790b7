"""A conversation with members of every level, whoever calls, and how each call of the wire is made on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from uuid import uuid4

import httpx

from elf.core.api_key import new_key
from tests.families.identities import Identities, Identity

AGENT: Final = "agent"
LEVELS: Final = ("reader", "writer", "manager")
OWNER: Final = Identity("token", user="owner", role="user")
CLIENT: Final = Identity("token", user="owner", role="user", client=AGENT)
CALLERS: Final[Mapping[str, Identity]] = {
    "nobody": Identity("none"),
    "bare key": Identity("key", role="user"),
    "wrong key": OWNER,  # and a key that nobody knows
    "stranger": Identity("token", user="stranger", role="user"),
    **{level: Identity("token", user=level, role="user") for level in LEVELS},
    "owner": OWNER,
    "client": CLIENT,
    "other client": Identity("token", user="owner", role="user", client="other"),
    "indexer": Identity("token", user="clerk", role="indexer"),
    "auditor": Identity("token", user="inspector", role="auditor"),
    "admin": Identity("token", user="boss", role="admin"),
    "other tenant": Identity("token", user="owner", role="admin", client=AGENT),
}
"""Whoever calls: the members are users without a client, the clients those of the owner; roles are of no member. Of
another tenant is one who has every role there, and the owner's name and client."""


class Call(NamedTuple):
    """A call of the wire; names in braces are of what the house has."""

    line: str
    body: Any = None

    @property
    def method(self) -> str:
        return self.line.split(" ")[0]

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]


ONE: Final = "/v1/conversations/{conversation}"
ANY: Final = "/v1/admin/conversations/{conversation}"
SAID: Final = {"channel": "history", "contentType": "history", "content": [{"role": "USER", "text": "Hi"}]}
MINE: Final = {"channel": "memory", "contentType": "LC4J", "content": [{"text": "mine"}]}
WRITTEN: Final = {"content": [{"role": "AI", "text": "Hello"}]}
CALLS: Final = {
    "health": Call("GET /v1/health"),
    "list": Call("GET /v1/conversations?mode=all"),
    "create": Call("POST /v1/conversations", {"title": "Other"}),
    "read": Call(f"GET {ONE}"),
    "read unknown": Call("GET /v1/conversations/{unknown}"),
    "read deleted": Call("GET /v1/conversations/{deleted}"),
    "rename": Call(f"PATCH {ONE}", {"title": "Mine"}),
    "delete": Call(f"DELETE {ONE}"),
    "entries": Call(f"GET {ONE}/entries"),
    "memory": Call(f"GET {ONE}/entries?channel=memory"),
    "context": Call(f"GET {ONE}/context"),
    "append": Call(f"POST {ONE}/entries", SAID),
    "remember": Call(f"POST {ONE}/entries", MINE),
    "begin": Call("POST /v1/conversations/{unknown}/entries", SAID),
    "sync": Call(f"POST {ONE}/entries/sync", MINE),
    "fork": Call(f"POST {ONE}/entries/{{entry}}/fork", {}),
    "forks": Call(f"GET {ONE}/forks"),
    "members": Call(f"GET {ONE}/memberships"),
    "share": Call(f"POST {ONE}/memberships", {"userId": "guest", "accessLevel": "writer"}),
    "make manager": Call(f"POST {ONE}/memberships", {"userId": "guest", "accessLevel": "manager"}),
    "make owner": Call(f"POST {ONE}/memberships", {"userId": "guest", "accessLevel": "owner"}),
    "change": Call(f"PATCH {ONE}/memberships/reader", {"accessLevel": "writer"}),
    "change manager": Call(f"PATCH {ONE}/memberships/manager", {"accessLevel": "writer"}),
    "remove": Call(f"DELETE {ONE}/memberships/reader"),
    "remove owner": Call(f"DELETE {ONE}/memberships/owner"),
    "leave": Call(f"DELETE {ONE}/memberships/{{oneself}}"),
    "transfers": Call("GET /v1/ownership-transfers"),
    "transfer": Call(
        "POST /v1/ownership-transfers", {"conversationId": "{conversation}", "newOwnerUserId": "writer"}
    ),
    "read transfer": Call("GET /v1/ownership-transfers/{transfer}"),
    "end transfer": Call("DELETE /v1/ownership-transfers/{transfer}"),
    "accept": Call("POST /v1/ownership-transfers/{transfer}/accept"),
    "search": Call("POST /v1/conversations/search", {"query": "trip", "searchType": "fulltext"}),
    "sessions": Call("GET /v1/sessions"),
    "session": Call("GET /v1/sessions/one?sessionId={session}"),
    "session line": Call("GET /v1/sessions/line?key={session}"),
    "new session": Call("POST /v1/sessions/one", {"sessionId": "trips", "entries": [WRITTEN]}),
    "go back": Call("POST /v1/sessions/one", {"sessionId": "{session}", "keep": "but_newest"}),
    "drop session": Call("DELETE /v1/sessions/one?sessionId={session}"),
    "stop": Call(f"DELETE {ONE}/response"),
    "unindexed": Call("GET /v1/conversations/unindexed"),
    "index": Call(
        "POST /v1/conversations/index",
        [{"conversationId": "{conversation}", "entryId": "{entry}", "indexedContent": "a greeting"}],
    ),
    "any": Call("GET /v1/admin/conversations"),
    "any one": Call(f"GET {ANY}"),
    "any deleted": Call("GET /v1/admin/conversations/{deleted}"),
    "any entries": Call(f"GET {ANY}/entries"),
    "any members": Call(f"GET {ANY}/memberships"),
    "any forks": Call(f"GET {ANY}/forks"),
    "any search": Call("POST /v1/admin/conversations/search", {"query": "trip", "searchType": "fulltext"}),
    "any delete": Call(f"DELETE {ANY}"),
    "any restore": Call("POST /v1/admin/conversations/{deleted}/restore"),
    "restore live": Call(f"POST {ANY}/restore"),
    "erase": Call("POST /v1/admin/conversations/erase", {"what": "user", "name": "nobody at all"}),
    "evict": Call("POST /v1/admin/evict", {"retentionPeriod": "P1D", "resourceTypes": ["conversations"]}),
}


class House(dict[str, str]):
    """What callers meet: ids and names, each made when it is asked for."""

    def __init__(self, http: httpx.Client, identities: Identities, tenant: str) -> None:
        super().__init__(unknown=str(uuid4()), **{level: level for level in LEVELS})
        self._http = http
        self._identities = identities
        self.tenant = tenant

    def __missing__(self, name: str) -> str:
        makers: Mapping[str, Callable[[], str]] = {
            "conversation": self._conversation,
            "entry": self._entry,
            "transfer": self._transfer,
            "deleted": self._deleted,
            "session": self._session,
        }
        self[name] = makers[name]()
        return self[name]

    def done(self, call: Call, *, by: str = "client") -> Any:
        """Return what somebody is answered who may do it: the owner, by a client."""
        path, body = call.path.format_map(self), filled(call.body, self)
        response = self._http.request(call.method, path, json=body, headers=self.headers(by))
        assert response.is_success, response.text
        return response.json() if response.content else None

    def ask(self, caller: str, call: Call) -> httpx.Response:
        """Return what a caller is answered."""
        here = self.met_by(caller)
        path = call.path.format_map(here)
        return self._http.request(
            call.method, path, json=filled(call.body, here), headers=self.headers(caller)
        )

    def met_by(self, caller: str) -> House:
        """Return what a caller meets, who is `oneself` in it."""
        here = House(self._http, self._identities, self.tenant)
        here.update(self, oneself=CALLERS[caller].user or "nobody")
        return here

    def headers(self, caller: str) -> Mapping[str, str]:
        """What proves who a caller is."""
        tenant = f"{self.tenant} of others" if caller == "other tenant" else self.tenant
        proof = self._identities.headers(CALLERS[caller], {"tenant_id": tenant})
        return {**proof, "X-API-Key": new_key()} if caller == "wrong key" else proof

    def _conversation(self) -> str:
        self["conversation"] = self.done(Call("POST /v1/conversations", {"title": "Trip"}))["id"]
        for level in LEVELS:
            self.done(
                Call(
                    "POST /v1/conversations/{conversation}/memberships",
                    {"userId": level, "accessLevel": level},
                )
            )
        return self["conversation"]

    def _entry(self) -> str:
        path = "POST /v1/conversations/{conversation}/entries"
        self.done(Call(path, MINE))
        return str(self.done(Call(path, SAID))["id"])

    def _transfer(self) -> str:
        body = {"conversationId": "{conversation}", "newOwnerUserId": "manager"}
        return str(self.done(Call("POST /v1/ownership-transfers", body))["id"])

    def _deleted(self) -> str:
        gone = House(self._http, self._identities, self.tenant)
        gone.done(Call(f"DELETE {ONE}"))
        return gone["conversation"]

    def _session(self) -> str:
        """Begin a session of the owner, whose entry has its name for a key."""
        name = str(uuid4())
        self.done(Call("POST /v1/sessions/one", {"sessionId": name, "entries": [{**WRITTEN, "key": name}]}))
        return name


def filled(body: Any, house: House) -> Any:
    """Return a body with what the house has in the place of its names."""
    if isinstance(body, str):
        return body.format_map(house)
    if isinstance(body, list):
        return [filled(one, house) for one in body]
    return {name: filled(one, house) for name, one in body.items()} if isinstance(body, dict) else body
