"""Forgetting one thing, and all that is kept of somebody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from elf.client.asynchronous import AsyncClient
from elf.client.errors import service_error
from elf.client.families.memories_kept import ForgottenItem
from elf.client.memory.inputs import MOST, Address
from elf.client.memory.listing import listed
from elf.client.memory.records import ForgottenAll
from elf.client.memory.subject import Subject
from elf.core.errors import NotFound, ServiceError, Unauthorized

BATCH: Final = 100
CONVERSATIONS: Final = "conversations"


def refusal_of(item: ForgottenItem) -> ServiceError:
    """Return why an item was not forgotten, as what is raised."""
    if item.error_code is None:
        return NotFound(f"memory_id: there is no item {_address(item)}", fields=["memory_id"])
    return service_error(item.error_code, item.message or item.outcome, ["memory_id"], retry_after_s=1)


async def forget_all(client: AsyncClient, subject: Subject, *, cascade: bool) -> ForgottenAll:
    """Forget all that is listed of a user, and without an agent the user's conversations, those of a run only its own.

    Raises InvalidRequest without a user.
    """
    going = _Going(client, subject, cascade=cascade)
    while kept := going.untried(await going.listed()):
        await going.forget(kept)
    if subject.agent_id is None:
        await going.forget(f"{CONVERSATIONS}/conversation/{id}" for id in await going.conversations())
    remaining = await going.still_there()
    left = f"; {len(going.left)} are left" if going.left else ""
    return ForgottenAll(
        message=f"Memories deleted: {going.count}{left}", forgotten=going.count, left=going.left,
        remaining=remaining,
    )  # fmt: skip


class _Going:
    """What goes, and why the rest is left."""

    def __init__(self, client: AsyncClient, subject: Subject, *, cascade: bool) -> None:
        self._client = client
        self._cascade = cascade
        self._remaining: dict[str, None] = {}
        self._subject = subject
        self._tried: set[str] = set()
        self.count = 0
        self.left: dict[str, str] = {}

    async def listed(self) -> list[str]:
        """Return the addresses of what is listed, with an agent only its own: what is of none stays for the others."""
        kept = await listed(self._client, self._subject, MOST, self.left)
        agent_id = self._subject.agent_id
        return [one["id"] for one in kept if agent_id in (None, one["agent_id"])]

    def untried(self, addresses: Sequence[str]) -> list[str]:
        """Return those that were not to be forgotten before; what was, and is there all the same, is left."""
        self.left |= dict.fromkeys(
            self._tried.intersection(addresses) - self.left.keys(), NotFound.error_code
        )
        return [one for one in addresses if one not in self._tried]

    async def forget(self, addresses: Iterable[str]) -> None:
        rest = list(addresses)
        self._tried.update(rest)
        while batch := rest[:BATCH]:
            rest = rest[BATCH:]
            told = await self._client.memories.forget(
                batch, user_id=self._subject.user_id, agent_id=self._subject.agent_id,
                conversation=self._subject.run_id, cascade=self._cascade or None,
            )  # fmt: skip
            self._remaining |= dict.fromkeys(told.remaining)
            self.count += sum(one.outcome == "forgotten" for one in told.items)
            self.left |= {
                _address(one): one.error_code or one.outcome.upper()
                for one in told.items
                if one.outcome in ("refused", "unavailable")
            }

    async def still_there(self) -> list[str]:
        """Return the entries that hold what was forgotten, but for those whose conversations went, too."""
        there = []
        for address in self._remaining:
            try:
                await self._client.memories.item(*address.split("/", 2), user_id=self._subject.user_id)
            except NotFound:
                continue
            there.append(address)
        return there

    async def conversations(self) -> Sequence[object]:
        """Return the ids of the conversations that go; of one who cannot be asked for them, none."""
        if self._subject.run_id is not None:
            run = await self._subject.conversation_id(self._client)
            return [] if run is None else [run]
        calling = self._subject.calling(self._client).conversations
        try:
            return [one.id async for one in calling.list(mode="roots")]
        except NotFound:  # the family is not on
            return []
        except Unauthorized as error:  # a key that speaks for no user
            self.left[CONVERSATIONS] = error.error_code
            return []


def _address(item: ForgottenItem) -> str:
    return str(Address(item.family, item.kind, item.id))
