"""Puts the files of ELF in the place of those of the memory tool on a disk."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Final

import pytest

from elf.claude import AsyncElfMemoryTool, ElfMemoryTool
from elf.client import Client
from ops.upstream_tests import standing_in

NOT_APPLICABLE: Final[Mapping[str, str]] = {
    r"symlink": "symbolic links: ELF has none",
    r"world_writable": "the modes of folders on a disk",
    r"too_many_lines": "a file of five megabytes: ELF takes none so large",
    r"memories_directory\[/memories/(\.|sub/\.\.)\]": "`.` and `..` within a path: ELF refuses both in other words",
}


def swap() -> None:
    """Nothing is made but by fixtures."""


def swap_in(module: Any) -> None:
    module.get_directory_snapshot = _snapshot
    module.Path = _Root  # what the tests make of the text of a folder of files


def _snapshot(base_path: str) -> dict[str, str]:
    """The files of the user whose name stands for the folder, by their paths without the slash."""
    files = _files(base_path).assistant
    paths = [one.path for one in files.files(user_id=base_path)]
    return {path.removeprefix("/"): files.read_file(path, user_id=base_path).text for path in paths}


def _files(user: str) -> Client:
    return standing_in.client(user)


def fixture(name: str, request: pytest.FixtureRequest) -> Any:
    if name == "sync_local_filesystem_tool":
        return _Tool(standing_in.user())
    if name == "async_local_filesystem_tool":
        return request.getfixturevalue("elf_async_files")
    return None


class _Root:
    """The folder of a user's files, or a file in it, as tests look at both."""

    def __init__(self, user: str, path: str = "/memories") -> None:
        self._user = user
        self._path = path

    def __str__(self) -> str:
        return self._user

    def __truediv__(self, name: str) -> _Root:
        return _Root(self._user, f"{self._path}/{name}")

    def write_bytes(self, content: bytes) -> None:
        _files(self._user).assistant.create_file(self._path, content.decode(), user_id=self._user)

    def read_bytes(self) -> bytes:
        return _files(self._user).assistant.read_file(self._path, user_id=self._user).text.encode()

    def mkdir(self, **how: bool) -> None:
        """There is a folder wherever a file is."""

    def is_dir(self) -> bool:
        told = ElfMemoryTool(_files(self._user), user_id=self._user).call(
            {"command": "view", "path": self._path}
        )
        return isinstance(told, str) and told.startswith("Here're the files and directories")


class _AsyncRoot(_Root):
    async def is_dir(self) -> bool:  # type: ignore[override]
        return await asyncio.to_thread(super().is_dir)


class _Tool(ElfMemoryTool):
    def __init__(self, user: str) -> None:
        super().__init__(_files(user), user_id=user)
        self.base_path = user
        self.memory_root = _Root(user)


class _AsyncTool(AsyncElfMemoryTool):
    def __init__(self, client: Any, user: str) -> None:
        super().__init__(client, user_id=user)
        self.base_path = user
        self.memory_root = _AsyncRoot(user)


@pytest.fixture
async def elf_async_files() -> Any:
    user = standing_in.user()
    async with standing_in.async_client(user) as client:
        yield _AsyncTool(client, user)
