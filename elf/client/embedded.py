"""A service of one's own, for scripts and tests: it runs while the block does, in a thread of this process."""

from __future__ import annotations

import tempfile
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TypedDict

import anyio
from anyio import to_thread

from elf.client.asynchronous import AsyncClient
from elf.client.blocking import Client
from elf.client.connection import DefaultProject
from elf.client.context import project_of
from elf.client.credentials import Credentials, Token
from elf.core.errors import StartupError
from elf.core.service_extra import needing_service

if TYPE_CHECKING:  # what needs the service's code is imported when a service is started, and not before
    from elf.config.model import Config


class _Identity(TypedDict):
    api_key: str | None
    token: Token
    for_user: str | None


class Local:
    """What `local` returns: a context manager and an async one. May be entered again after it was left.

    `name` is what needs the service, by its name in messages.
    """

    def __init__(
        self,
        where: Config | Path | str | None,
        context: dict[str, str | None],
        credentials: Credentials,
        *,
        name: str = "elf.client.local",
    ) -> None:
        self._name = name
        self._where = where
        self._context = context
        self._credentials = credentials
        self.user: str | None = None
        """The user of calls that name none, once it is entered; None where a key or a token says who calls."""
        self._stack = ExitStack()
        self._async_stack = AsyncExitStack()

    def __enter__(self) -> Client:
        with ExitStack() as stack:
            url, config = self._start(stack)
            client = stack.enter_context(Client(url, **self._identity(config)))
            client = client.within(**self._defaults(config)).by_default_in(_default_project(config))
            client = client.within(**self._context)
            self._stack = stack.pop_all()
        return client

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)

    async def __aenter__(self) -> AsyncClient:
        async with AsyncExitStack() as stack:
            services = ExitStack()
            stack.push_async_callback(_close_in_thread, services)
            url, config = await to_thread.run_sync(self._start, services)
            client = await stack.enter_async_context(AsyncClient(url, **self._identity(config)))
            client = client.within(**self._defaults(config)).by_default_in(_default_project(config))
            client = client.within(**self._context)
            self._async_stack = stack.pop_all()
        return client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._async_stack.__aexit__(kind, error, trace)

    def _identity(self, config: Config) -> _Identity:
        given = self._credentials
        token = given.token
        auth = config.security.auth
        if (
            token is None
            and given.for_user is None
            and auth.mode == "off"
            and auth.lets_name_user(given.api_key)
        ):
            token = config.defaults.user or None  # which mode off takes for the user's name
            self.user = config.defaults.user or auth.dev_user
        return {"api_key": given.api_key, "token": token, "for_user": given.for_user}

    def _defaults(self, config: Config) -> dict[str, str]:
        """Return what [defaults] gives, without what the key or the token fills in, and without a project."""
        context = {"scope": config.default_scope, "read_profile": config.default_profile}
        absent = {*_bound(config, self._credentials), "project_id"}
        return {
            name: value for name, value in (config.defaults.ids() | context).items() if name not in absent
        }

    def _start(self, stack: ExitStack) -> tuple[str, Config]:
        """Start the service, leave its stopping to the stack, and return its URL and its config."""
        with needing_service(self._name):
            from actors.processes.background import BackgroundSystem

        config = _config(self._where, stack)
        service = BackgroundSystem(config)
        stack.callback(service.stop)
        return f"http://{service.start()}", config


async def _close_in_thread(services: ExitStack) -> None:
    with anyio.CancelScope(shield=True):  # every part of the service has a deadline for its stop
        await to_thread.run_sync(services.close)


def local(
    where: Config | Path | str | None = None,
    *,
    tenant_id: str | None = None,
    project_id: str | None = None,
    user: str | None = None,
    agent_id: str | None = None,
    scope: str | None = None,
    read_profile: str | None = None,
    api_key: str | None = None,
    token: Token = None,
    for_user: str | None = None,
) -> Local:
    """Run a whole service while a block runs: `with local() as client` or `async with local() as client`.

    `where` is a folder to keep the data in, on the example config that comes with ELF; or a config file, or a Config;
    without it, a folder that is deleted afterwards. Its fronts take free ports of this machine, whatever the config
    says. The service has a thread and an event loop of its own, prints nothing, and logs to the logger `elf` of the
    standard library. The context is that of a client; what is not given is as [defaults] of the config says, and so the
    same as on the command line and over MCP. Who calls is proved by the key or the token, as with a client: a config
    that requires one does so here, too. Entering raises StartupError when it cannot start, ConfigError when the config
    is faulty.
    """
    context = {
        "tenant_id": tenant_id,
        "project_id": project_of(user, project_id),
        "agent_id": agent_id,
        "scope": scope,
        "read_profile": read_profile,
    }
    return Local(where, context, Credentials(api_key, token, for_user))


def _bound(config: Config, given: Credentials) -> frozenset[str]:
    return config.security.auth.bound_names(key=given.api_key, has_token=given.token is not None)


def _default_project(config: Config) -> DefaultProject:
    def project(given: Credentials) -> str | None:
        if "project_id" in _bound(config, given):
            return None
        if callable(given.token):
            return None  # whose token it will be is known when it is asked for
        return config.default_project(key=given.api_key, token=given.token, for_user=given.for_user)

    return project


def _config(where: Config | Path | str | None, stack: ExitStack) -> Config:
    from elf.config import Config, load
    from elf.config.example import example_config

    if where is None:
        where = stack.enter_context(tempfile.TemporaryDirectory(prefix="elf-"))
    if isinstance(where, Config):
        config = where
    elif (path := Path(where)).is_file() or path.suffix == ".toml":
        config = load(path)
    else:
        _make(path)
        config = example_config(path.absolute())
    free = "127.0.0.1:0"
    binds = {"http_bind": free, "mcp_bind": free, "admin_bind": free, "grpc_bind": None}
    service = config.service.model_copy(update=binds)
    return config.model_copy(update={"service": service})


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StartupError(f"{folder} cannot be made: {error.strerror or error}") from error
