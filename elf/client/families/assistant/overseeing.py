"""Work that happens by itself, asked for now by operators, at the admin address."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from elf.client.call import Call, operators, post, reader
from elf.client.families.assistant import results as r
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

ADMIN = "/v1/admin/assistant"


class Overseeing(FamilyClient[C_co]):
    """What is for operators is served at the admin address: by a client whose base URL that is."""

    @method
    def redact_checkpoints(
        self, *, user_id: Annotated[str | None, "of this user alone"] = None
    ) -> Call[r.RedactedCheckpoints]:
        """For operators: remove the readable copies of checkpoints that savers keep; metadata stays."""
        body = {**self.owner, "user_id": user_id}
        return operators(
            post(f"{ADMIN}/checkpoints/redact", body, reader(r.RedactedCheckpoints), repeat="safe")
        )

    @method
    def consolidate(
        self,
        *,
        user_id: Annotated[str | None, "the memories of this user alone"] = None,
        all_tenants: Annotated[bool, "of all tenants, not of one"] = False,
        dry_run: Annotated[bool, "only tell what would be done"] = False,
        timeout_s: Annotated[float | None, "longest wait in seconds"] = None,
    ) -> Call[r.Consolidated]:
        """For operators: compare memories that may be one now, within what the day still allows.

        A user may take half a minute: `timeout_s` takes the place of the client's. Sent again only when the first
        request surely did nothing.
        """
        whose = {"tenant_id": None} if all_tenants else self.owner
        body = {**whose, "user_id": user_id, "dry_run": dry_run}
        call = post(f"{ADMIN}/consolidate", body, reader(r.Consolidated), repeat="undone")
        return operators(replace(call, timeout_s=timeout_s))
