"""What the first line of a request asks for: a path, in HTTP/1.1 also a whole URL, or * for the server itself."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

_VISIBLE: Final = re.compile(rb"[\x21-\x7e]+")


def path_of(target: bytes) -> str:
    """Return the decoded path of a target without its query. Raises ValueError for what can be no target."""
    if not _VISIBLE.fullmatch(target):
        raise ValueError("a target has visible characters of ASCII only")
    sent = target.decode("ascii")
    if sent.startswith("/") or sent == "*":
        return unquote(sent)
    url = urlsplit(sent)
    _ = url.port  # reading it is what checks it
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError("a target is a path, or a URL of http or https with a host")
    return unquote(url.path) or "/"
