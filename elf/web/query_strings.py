"""What the address of a request says beside its place: the parameters of its query string and of its path.

They are read from the bytes that were sent: a framework puts U+FFFD where bytes are no UTF-8.
"""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

from elf.core.errors import InvalidRequest
from elf.core.json_strings import shortened

MAX_PARAMETERS = 100


def query_values(query: bytes) -> dict[str, str]:
    """Return the parameters of a query string.

    Raises InvalidRequest, naming the parameters, for one that is given more than once and for what is no UTF-8.
    """
    parts = [part.replace(b"+", b" ").partition(b"=") for part in query.split(b"&") if part]
    if len(parts) > MAX_PARAMETERS:
        raise InvalidRequest(f"the query string has more than {MAX_PARAMETERS} parameters")
    values: dict[str, str] = {}
    repeated: dict[str, None] = {}
    for sent_name, _, sent_value in parts:
        name = _decoded(sent_name, "$")
        path = f"$.{shortened(name)}"
        if name in values:
            repeated[path] = None
        values[name] = _decoded(sent_value, path)
    if repeated:
        raise InvalidRequest(f"{next(iter(repeated))}: is given more than once", fields=list(repeated))
    return values


def check_path(raw_path: str, template: str) -> None:
    """Raise InvalidRequest, naming the parameter, when a parameter of a path was sent as bytes that are no UTF-8.

    `template` is the path with its parameters in braces.
    """
    for sent, part in zip(raw_path.split("/"), template.split("/"), strict=False):
        _decoded(sent, f"$.{part.strip('{}')}")


def _decoded(sent: bytes | str, path: str) -> str:
    try:
        return unquote_to_bytes(sent).decode()
    except UnicodeDecodeError:
        raise InvalidRequest(f"{path}: is not valid UTF-8", fields=[path]) from None
