"""What can be wrong with a memory, its file or its orchestrator.

Unavailable 503
├── GraphLivesElsewhere     graph_lives_elsewhere: the files are on another host
├── GraphDisabled           memory_disabled: the config has this orchestrator, or the family, disabled
└── FileUnusable            the file cannot be used until somebody has done something about it
    ├── MemoryDbCorrupt     memory_db_corrupt: it is no database, or a damaged one
    ├── MemoryDbLost        memory_db_lost: it was made, and is gone
    ├── GraphRootLost       graph_root_lost: the root folder that this host kept it in is gone
    ├── MemoryDbForeign     memory_db_foreign: it is the file of somebody else
    ├── MemoryDbTooNew      memory_db_too_new: a later version of ELF has written it
    ├── UnsafeLayout        unsafe_layout: a folder leads out of its root, or is no folder
    └── NetworkFileSystem   network_file_system: files are not locked reliably there
Forbidden 403
└── NotTheUsersOwn          FORBIDDEN: a user's call is to change what is not that user's
InternalError 500
└── InvalidRow              memory_row_invalid: somebody wrote what the family does not
"""

from __future__ import annotations

from elf.core.errors import Forbidden, InternalError, NotFound, Unavailable


class GraphLivesElsewhere(Unavailable):
    """The memory of an orchestrator is kept on another host, which is named."""

    error_code = "graph_lives_elsewhere"
    concerns_all = False


class GraphDisabled(Unavailable):
    """The memory of an orchestrator is disabled by the config."""

    error_code = "memory_disabled"
    concerns_all = False


class FileUnusable(Unavailable):
    """The file of an orchestrator cannot be used. It is looked at again from time to time."""

    concerns_all = False

    def __init__(self, message: str) -> None:
        super().__init__(message, retry_after_s=60)


class MemoryDbCorrupt(FileUnusable):
    """A memory.db is no SQLite database, or a damaged one."""

    error_code = "memory_db_corrupt"


def emptied(orchestrator_id: str) -> MemoryDbCorrupt:
    """Return what is wrong with a memory.db that was made and in which nothing is."""
    return MemoryDbCorrupt(
        f"the memory.db of {orchestrator_id} is empty: an operator restores its folder from a backup, or has the "
        "memory made anew with `elf graph recover`"
    )


class MemoryDbLost(FileUnusable):
    """A memory.db was made, and is gone: nothing is begun in its place until an operator gives it up."""

    error_code = "memory_db_lost"

    def __init__(self, orchestrator_id: str) -> None:
        super().__init__(
            f"the memory.db of {orchestrator_id} is gone: an operator restores its folder from a backup, or gives it "
            "up with `elf graph recover`"
        )


class GraphRootLost(FileUnusable):
    """The root folder that a memory was kept in on this host is gone: the one in its place has another name."""

    error_code = "graph_root_lost"

    def __init__(self, orchestrator_id: str, home: str) -> None:
        super().__init__(
            f"the memory of {orchestrator_id} was kept on this host in a root folder named {home}, which is gone: an "
            f"operator restores that folder with its file .home, or gives the memory up with `elf graph recover "
            f"--lost-home {home}`"
        )


class MemoryDbForeign(FileUnusable):
    """A memory.db belongs to another tenant or orchestrator than its folder says."""

    error_code = "memory_db_foreign"


class MemoryDbTooNew(FileUnusable):
    """A memory.db has a schema that only a later version of ELF knows."""

    error_code = "memory_db_too_new"


class UnsafeLayout(FileUnusable):
    """A folder of a memory is no folder, a link, or resolves outside of its root."""

    error_code = "unsafe_layout"


class NetworkFileSystem(FileUnusable):
    """A memory would be on a network file system, where locks of several processes cannot be relied on."""

    error_code = "network_file_system"


class NotTheUsersOwn(Forbidden):
    """A call with a user is to change what other users read, too."""

    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path}: this is not the user's own, and other users read it; who calls without a user changes it",
            fields=[path],
        )


class InvalidRow(InternalError):
    """A row of a memory.db breaks the rules of the family: it was written by something else. The message names it."""

    error_code = "memory_row_invalid"
    is_told = True


class NoSuchOrchestrator(NotFound):
    """There is no such orchestrator for this tenant."""

    def __init__(self, orchestrator_id: str) -> None:
        path = "$.orchestrator_id"
        super().__init__(f"{path}: there is no orchestrator {orchestrator_id}", fields=[path])


class NoSuchMemory(NotFound):
    """There is no such memory of this orchestrator."""

    def __init__(self, memory_id: str, *, path: str = "$.memory_id") -> None:
        super().__init__(f"{path}: there is no memory {memory_id}", fields=[path])


class NoSuchEdge(NotFound):
    """There is no such edge between memories of this orchestrator."""

    def __init__(self, edge_id: str, *, path: str = "$.edge_id") -> None:
        super().__init__(f"{path}: there is no edge {edge_id}", fields=[path])
