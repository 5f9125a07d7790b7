"""Replaces secrets by `[REDACTED:kind]`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.scan import find_secrets
from elf.core.slices import Slices, at_once, elsewhere

SHORT: Final = 1024
"""So many code points are read in a millisecond or a few."""


def redact(text: str) -> str:
    """Return the text with every secret replaced by `[REDACTED:kind]`; `find_secret` finds none in the
    result.
    """
    return at_once(redacting_after("", text))


def redacting(text: str) -> Slices[str]:
    """Do what `redact` does, in slices."""
    return redacting_after("", text)


def redacting_after(context: str, text: str) -> Slices[str]:
    """Redact a text that is read after `context`, which is not changed; with a pause after each reading.

    A cut can bring a new secret to light, because the surroundings changed: it is repeated until none is
    left. Every turn leaves less text outside of placeholders, so it ends.
    """
    while findings := (yield from _finding_after(context, text)):
        pieces = []
        position = 0
        for finding in findings:
            pieces += [text[position : finding.start], f"[REDACTED:{finding.kind}]"]
            position = finding.end
        text = "".join([*pieces, text[position:]])
    return text


def _finding_after(context: str, text: str) -> Slices[Sequence[SecretFinding]]:
    if len(text) <= SHORT:
        yield
        return _findings_after(context, text)
    return (yield from elsewhere(partial(_findings_after, context, text)))


def _findings_after(context: str, text: str) -> Sequence[SecretFinding]:
    shift = len(context)
    return [
        SecretFinding(finding.kind, finding.start - shift, finding.end - shift)
        for finding in find_secrets(context + text)
        if finding.start >= shift
    ]
