"""Judging a request as it went over the wire by an OpenAPI document, apart from whoever made the request."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from jsonschema import Draft202012Validator

Parameters = Mapping[str, Mapping[str, Any]]


class RequestJudge:
    """Says whether a document allows a request.

    `also_elsewhere` are the operations whose path is that of another one, too, with a parameter in it.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._components = document["components"]
        self._operations = [
            (method.upper(), _pattern(path), entry)
            for path, methods in document["paths"].items()
            for method, entry in methods.items()
        ]
        self._validators: dict[int, Draft202012Validator] = {}
        self.also_elsewhere = frozenset(
            f"{method.upper()} {path}"
            for path, methods in document["paths"].items()
            for method in methods
            if sum(pattern.fullmatch(path) is not None for _, pattern, _ in self._operations) > len(methods)
        )

    def allows(self, method: str, url: str, body: bytes) -> bool | None:
        """Return whether the request is one that the document allows; None when it is of no operation there."""
        parts = urlsplit(url)
        for own_method, pattern, entry in self._operations:
            found = pattern.fullmatch(parts.path)
            if own_method == method and found is not None:
                named = {name: unquote(value) for name, value in found.groupdict().items()}
                return self._is_allowed(entry, named, parse_qsl(parts.query, keep_blank_values=True), body)
        return None

    def _is_allowed(
        self, entry: Mapping[str, Any], named: dict[str, str], query: list[tuple[str, str]], body: bytes
    ) -> bool:
        known: Parameters = {parameter["name"]: parameter for parameter in entry.get("parameters", ())}
        given = named | dict(query)
        if len(dict(query)) != len(query) or named.keys() & dict(query).keys():
            return False
        if not given.keys() <= known.keys():
            return False
        if any(parameter["required"] and name not in given for name, parameter in known.items()):
            return False
        if not all(
            self._fits(known[name]["schema"], _read(known[name], value)) for name, value in given.items()
        ):
            return False
        return "requestBody" not in entry or self._takes_body(entry["requestBody"], body)

    def _takes_body(self, asked: Mapping[str, Any], body: bytes) -> bool:
        if not body:
            return not asked["required"]
        try:
            value = json.loads(body, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return False
        return self._fits(asked["content"]["application/json"]["schema"], value)

    def _fits(self, schema: Mapping[str, Any], value: Any) -> bool:
        if id(schema) not in self._validators:
            checker = Draft202012Validator.FORMAT_CHECKER
            whole = {**schema, "components": self._components}
            self._validators[id(schema)] = Draft202012Validator(whole, format_checker=checker)
        return bool(self._validators[id(schema)].is_valid(value))


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\})", path)
    return re.compile(
        "".join(f"(?P<{part[1:-1]}>[^/]+)" if part.startswith("{") else re.escape(part) for part in parts)
    )


def _read(parameter: Mapping[str, Any], value: str) -> object:
    """Return what a value of a query string stands for, of the type that the parameter has."""
    if parameter["schema"].get("type") == "boolean":
        return {"true": True, "false": False}.get(value, value)
    if parameter["schema"].get("type") != "integer":
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
