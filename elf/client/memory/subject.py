"""Of whom a memory is: what its verbs say, and what they mean to those families that ask for more than the user."""

from __future__ import annotations

from dataclasses import dataclass, replace

from elf.client.asynchronous import AsyncClient
from elf.client.credentials import Credentials
from elf.core.errors import InvalidRequest, NotFound
from elf.core.nobody import AGENT_OF_NOBODY, agent_of


@dataclass(frozen=True, slots=True)
class Subject:
    """A user, an agent, a run of it: a conversation by any name. What is None is not said.

    `is_proven` is whether a key or a token says who calls; else the service takes callers at their word.
    """

    user_id: str | None = None
    agent_id: str | None = None
    run_id: str | None = None
    is_proven: bool = False

    def __post_init__(self) -> None:
        for name in ("user_id", "agent_id", "run_id"):
            given: object = getattr(self, name)
            if given is not None and not isinstance(given, str):
                raise InvalidRequest(f"{name}: should be a text, not {type(given).__name__}", fields=[name])

    def with_(
        self, user_id: str | None = None, agent_id: str | None = None, run_id: str | None = None
    ) -> Subject:
        """Return the one that a call means: what it says, and else this."""
        return replace(
            self,
            user_id=self.user_id if user_id is None else user_id,
            agent_id=self.agent_id if agent_id is None else agent_id,
            run_id=self.run_id if run_id is None else run_id,
        )

    def need_user(self, what: str) -> str:
        """Return the user. Raises InvalidRequest where nobody is said: `what` cannot be done for nobody."""
        if self.user_id is None:
            raise InvalidRequest(
                f"user_id: say whose: {what} is of one user, and the service does not tell who calls",
                fields=["user_id"],
            )
        return self.user_id

    def notes(self, client: AsyncClient, what: str) -> AsyncClient:
        """Return the client of the user's notes, where every agent of the user reads. Raises as `need_user` does.

        Where a key or a token says who calls, the agent may be bound to it, and is the service's to fill in.
        """
        agent_id = self.agent_id or (None if self.is_proven else AGENT_OF_NOBODY)
        return client.within(project_id=self.need_user(what), agent_id=agent_id)

    def calling(self, client: AsyncClient) -> AsyncClient:
        """Return the client by which the user calls: where nothing proves who does, a token is a user's name."""
        if self.user_id is None or self.is_proven:
            return client
        return client.proven_by(Credentials(token=self.user_id))

    def has_agent(self, agent_id: str | None) -> bool:
        """Tell whether what is of an agent, or of none, is meant: what is of none is shared by all."""
        return self.agent_id is None or agent_of(agent_id) in (None, self.agent_id)

    async def conversation_id(self, client: AsyncClient) -> str | None:
        """Return the id that the run's name stands for now; None without a run, and where it has no conversation."""
        if self.run_id is None:
            return None
        try:
            item = await client.memories.item(
                "conversations", "conversation", self.run_id, user_id=self.user_id, agent_id=self.agent_id
            )
        except NotFound:
            return None
        return item.id
