"""Where a memory is: a service at an address, or one of this process's own on a folder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.credentials import Credentials, Token
from elf.client.embedded import Local

FOLDER: Final = "elf-memory"
TENANT: Final = "default"

Where: TypeAlias = str | os.PathLike[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """An address, or a folder or config file, and who calls there."""

    where: Where | None
    key: str | None
    token: Token
    for_user: str | None
    tenant_id: str | None
    timeout_s: float

    @property
    def url(self) -> str | None:
        """The address; None for a folder or a file."""
        where = self.where
        return where if isinstance(where, str) and where.startswith(("http://", "https://")) else None

    @property
    def is_proven(self) -> bool:
        """Whether a key or a token says who calls."""
        return self.key is not None or self.token is not None

    def client(self, url: str) -> Client:
        """Return a client of the service at the address. Raises ValueError for one that is none."""
        return Client(
            url, tenant_id=self._tenant_id, api_key=self.key, token=self.token, for_user=self.for_user,
            timeout_s=self.timeout_s,
        )  # fmt: skip

    def async_client(self, url: str) -> AsyncClient:
        """Return a client of the service at the address. Raises ValueError for one that is none."""
        return AsyncClient(
            url, tenant_id=self._tenant_id, api_key=self.key, token=self.token, for_user=self.for_user,
            timeout_s=self.timeout_s,
        )  # fmt: skip

    def local(self) -> Local:
        """Return a service of one's own, which is not started yet."""
        where = Path(FOLDER if self.where is None else self.where).absolute()
        credentials = Credentials(self.key, self.token, self.for_user)
        return Local(where, {"tenant_id": self.tenant_id}, credentials, name="elf.Memory")

    @property
    def _tenant_id(self) -> str | None:
        """What is said, else what a key or a token binds, else that of those who name none."""
        return self.tenant_id or (None if self.is_proven else TENANT)
