"""The memory tool of Claude, with its files in an ELF service."""

from __future__ import annotations

from typing import Any

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from elf.claude.commands import CLEARED, called, in_plain_words, places, told
from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.errors import NotFound


class ElfMemoryTool(BetaAbstractMemoryTool):
    """Keeps the files of the memory tool in ELF, over a client: those of `user_id`, or of the user who calls.

    It answers as the tool over a file system does, and refuses in the same words by ToolError, which the model reads;
    so is a service that does not answer. The client stays yours to close.
    """

    def __init__(
        self,
        client: Client,
        *,
        user_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._client = client
        self.user_id = user_id

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry out a command."""
        return self._done(command)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self._done(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self._done(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self._done(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self._done(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self._done(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self._done(command)

    def clear_all_memory(self) -> str:
        """Delete all files of the user, one thing at the top after the other."""
        files = self._client.assistant
        with in_plain_words(changes=True):
            for place in places([one.path for one in files.files(user_id=self.user_id)]):
                try:
                    files.delete_file(place, user_id=self.user_id)
                except NotFound:  # somebody else was quicker
                    continue
        return CLEARED

    def _done(self, command: Any) -> str:
        with in_plain_words(changes=_changes(command)):
            call = called(command, self._client.assistant.owner, self.user_id)
            return told(call, self._client.send(call))


class AsyncElfMemoryTool(BetaAsyncAbstractMemoryTool):
    """What ElfMemoryTool is, over an AsyncClient."""

    def __init__(
        self,
        client: AsyncClient,
        *,
        user_id: str | None = None,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._client = client
        self.user_id = user_id

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry out a command."""
        return await self._done(command)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self._done(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self._done(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._done(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return await self._done(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._done(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self._done(command)

    async def clear_all_memory(self) -> str:
        """Do what the other's does."""
        files = self._client.assistant
        with in_plain_words(changes=True):
            for place in places([one.path async for one in files.files(user_id=self.user_id)]):
                try:
                    await files.delete_file(place, user_id=self.user_id)
                except NotFound:
                    continue
        return CLEARED

    async def _done(self, command: Any) -> str:
        with in_plain_words(changes=_changes(command)):
            call = called(command, self._client.assistant.owner, self.user_id)
            return told(call, await self._client.send(call))


def _changes(command: Any) -> bool:
    return getattr(command, "command", None) != "view"
