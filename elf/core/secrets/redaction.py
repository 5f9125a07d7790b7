"""Replaces secrets by `[REDACTED:kind]`, in texts and in decoded JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.scan import find_secrets, is_clean, is_plain_name

_SMALLEST_NUMBER: Final = 1000  # below it an integer is no PIN, card or account


def redact(text: str) -> str:
    """Return the text with every secret replaced by `[REDACTED:kind]`; `find_secret` finds none in the
    result.
    """
    return _redact_after("", text)


def redact_json(value: Any) -> Any:
    """Return a copy of a decoded JSON value with the secrets in its strings, integers and keys redacted.

    The name of a field counts as the words before its value, so `{"password": "..."}` is seen. An integer
    that is a secret becomes a string. Keys that are equal after redaction are told apart by a number behind
    them. The walk keeps its own stack, so no depth of nesting overflows.
    """
    holder: list[Any] = [None]
    pending: list[tuple[Any, str, Any, Any]] = [(value, "", holder, 0)]
    while pending:
        source, name, target, place = pending.pop()
        if isinstance(source, dict):
            names = _redacted_names(source)
            target[place] = copy = dict.fromkeys(names)
            pending += [
                (item, key, copy, new) for new, (key, item) in zip(names, source.items(), strict=True)
            ]
        elif isinstance(source, list):
            target[place] = items = [None] * len(source)
            pending += [(item, name, items, index) for index, item in enumerate(source)]
        else:
            target[place] = _redact_field(name, source)
    return holder[0]


def _redacted_names(source: dict[str, Any]) -> list[str]:
    names: dict[str, None] = {}
    for key in source:
        name = plain = key if is_plain_name(key) else redact(key)
        number = 1
        while name in names:
            number += 1
            name = f"{plain} {number}"
        names[name] = None
    return list(names)


def _redact_field(name: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    if isinstance(value, int) and abs(value) < _SMALLEST_NUMBER:
        return value
    text = str(value)
    context = f"{name.replace('_', ' ')}: " if name else ""
    if is_clean(context, text):
        return value
    redacted = _redact_after(context, redact(text))
    return value if redacted == text else redacted


def _redact_after(context: str, text: str) -> str:
    """Redact a text that is read after `context`, which is not changed.

    A cut can bring a new secret to light, because the surroundings changed: it is repeated until none is
    left. Every turn leaves less text outside of placeholders, so it ends.
    """
    while findings := _findings_after(context, text):
        pieces = []
        position = 0
        for finding in findings:
            pieces += [text[position : finding.start], f"[REDACTED:{finding.kind}]"]
            position = finding.end
        text = "".join([*pieces, text[position:]])
    return text


def _findings_after(context: str, text: str) -> Sequence[SecretFinding]:
    shift = len(context)
    return [
        SecretFinding(finding.kind, finding.start - shift, finding.end - shift)
        for finding in find_secrets(context + text)
        if finding.start >= shift
    ]
