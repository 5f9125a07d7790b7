"""All that there is of a user: taking it along, taking it in, and erasing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from elf.client.call import Call, Stream, get, operators, post, reader
from elf.client.families.assistant import results as r
from elf.client.families.assistant.inputs import Whose, all_plain
from elf.client.families.assistant.remembering import ROOT
from elf.client.family import C_co, FamilyClient
from elf.client.json_value import JsonObject
from elf.client.method import method

ADMIN = "/v1/admin/assistant"


class Keeping(FamilyClient[C_co]):
    """What is for operators is served at the admin address: by a client whose base URL that is."""

    @method
    def export_own(self, *, user_id: Whose = None) -> Stream[JsonObject]:
        """Take all that is remembered of oneself along.

        Each object has one thing: a memory, what it has to do with another one, what became of it, what the user is
        known by, what was proposed, or what the checkpoint of a thread says. Raises ScopeDenied for another user, and
        for an agent.
        """
        return Stream(get(f"{ROOT}/export", {**self.owner, "user_id": user_id}, reader(JsonObject)))

    @method
    def export(
        self,
        *,
        user_id: Annotated[str | None, "of this user (default: of all)"] = None,
        agent_id: Annotated[str | None, "only memories that this agent has kept"] = None,
    ) -> Stream[JsonObject]:
        """For operators: take what is remembered along, in the order in which `take_in` takes it."""
        params = {**self.owner, "user_id": user_id, "agent_id": agent_id}
        return Stream(operators(get(f"{ADMIN}/export", params, reader(JsonObject))))

    @method
    def take_in(
        self,
        lines: Annotated[Sequence[Mapping[str, object]], "an object of an export, as JSON"],
        *,
        user_id: Annotated[str | None, "whose they are from now on (default: as each says)"] = None,
    ) -> Call[r.Imported]:
        """For operators: take in up to 500 objects of an export. What is there already stays as it is.

        Texts that an assistant wrote have to pass as if they were new; what a user has to agree to is proposed.
        """
        body = {**self.owner, "items": all_plain(lines, "lines"), "user_id": user_id}
        return operators(post(f"{ADMIN}/import", body, reader(r.Imported)))

    @method
    def erase(
        self,
        what: Annotated[Literal["user", "agent", "tenant"], "what is erased: user, agent or tenant"],
        name: Annotated[
            str | None, "the user, or the agent that has kept it; of a tenant there is none"
        ] = None,
    ) -> Call[r.Erased]:
        """For operators: erase all of a user, what an agent has kept, or all of the tenant, for good.

        What is not there is counted as nothing.
        """
        return operators(post(f"{ADMIN}/erase", {**self.owner, "what": what, "name": name}, reader(r.Erased)))
