"""The tools of a family over standard input, as who has a key meets them: a process of `elf-mcp` for each caller."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters

from tests.families.fronts import McpFront, Reply, reply_of
from tests.families.identities import Identities
from tests.folders import fresh_folder
from tests.fronts.mcp_kit import elf_mcp
from tests.keys_kit import with_keys
from tests.system.service import REPO, write_config

KEY: Final = "X-API-Key"
USER: Final = "X-User-ID"


class StdioFront:
    """Tools over standard input; the methods are those of a McpFront, and so are its tools.

    Who asks is told by [mcp.context] of a config that knows no keys: the service judges them.
    """

    headers: Mapping[str, str] = {}
    is_on_network = False

    def __init__(self, portal: BlockingPortal, url: str, family: str, served: McpFront) -> None:
        self.name = f"stdio {family}"
        self.offers = served.offers
        self._portal = portal
        self._url = url
        self._family = family
        self._served = served
        self._open = ExitStack()
        self._clients: dict[tuple[str, str], Client] = {}

    def only_reads(self, name: str) -> bool:
        return self._served.only_reads(name)

    def in_path(self, name: str) -> frozenset[str]:
        return frozenset()

    def fills(self, name: str) -> Mapping[str, str]:
        return self._served.fills(name)

    def ask(
        self, name: str, arguments: Mapping[str, Any], *, headers: Mapping[str, str] | None = None
    ) -> Reply:
        assert headers is not None, "nobody asks without a key"
        client = self._client(headers[KEY], headers.get(USER, ""))
        result = self._portal.call(client.call_tool, self._served.tool(name), dict(arguments))
        (content,) = result.content
        return reply_of(content.text, is_error=bool(result.is_error))

    def close(self) -> None:
        self._open.close()

    def _client(self, key: str, user: str) -> Client:
        """Return a client of the process of whoever has a key and names a user."""
        if (key, user) not in self._clients:
            folder = self._open.enter_context(fresh_folder())
            command, *rest = elf_mcp(
                "-c",
                str(_config(folder, self._url, key, user)),
                "--stdio",
                "--family",
                self._family,
            )
            client = Client(StdioServerParameters(command=command, args=rest, cwd=REPO))
            opened = self._portal.wrap_async_context_manager(client)
            self._clients[key, user] = self._open.enter_context(opened)
        return self._clients[key, user]


def _config(folder: Path, url: str, key: str, user: str) -> Path:
    config = write_config(folder, http_bind=f'"{url.removeprefix("http://")}"')
    (folder / "desk.key").write_text(key)
    (folder / "desk.key").chmod(0o600)
    head, _, rest = with_keys(config.read_text(), mode="off").partition("\n[mcp.context]\n")
    for name, value in (("key_file", "desk.key"), ("user", user)):
        rest = re.sub(rf"^{name} = .*$", f'{name} = "{value}"', rest, count=1, flags=re.MULTILINE)
    config.write_text(f"{head}\n[mcp.context]\n{rest}", encoding="utf-8")
    return config


class StdioFronts:
    """The fronts of several families over standard input, in place of Fronts; a context manager."""

    public: Any = None
    admin: Any = None

    def __init__(self, url: str, identities: Identities | None, served: Mapping[str, McpFront]) -> None:
        self.identities = identities
        self._url = url
        self._served = served
        self._open = ExitStack()

    def offering(self, name: str) -> list[StdioFront]:
        return [front for front in self._fronts if name in front.offers]

    def __enter__(self) -> Self:
        portal = self._open.enter_context(start_blocking_portal())
        self._fronts = [StdioFront(portal, self._url, *one) for one in self._served.items()]
        for front in self._fronts:
            self._open.callback(front.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()
