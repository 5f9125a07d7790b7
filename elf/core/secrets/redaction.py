"""Replaces secrets by `[REDACTED:kind]`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.placeholders import placeholder
from elf.core.secrets.scan import find_secrets
from elf.core.slices import Slices, at_once, elsewhere

SHORT: Final = 1024
"""So many code points are read in a millisecond or a few."""

_PRECISE_TURNS: Final = 3
_MOST_TURNS: Final = 5


def redact(text: str) -> str:
    """Return the text with every secret replaced by `[REDACTED:kind]`; `find_secret` finds none in the
    result.
    """
    return at_once(redacting(text))


def redacting(text: str) -> Slices[str]:
    """Do what `redact` does, in slices."""
    return redacting_after("", text)


def redacting_after(context: str, text: str) -> Slices[str]:
    """Redact a text that is read after `context`, which is not changed; with a pause after each reading.

    A cut can bring a new secret to light, because the surroundings changed: it is repeated until none is left. A
    text in which there are still some after a few turns was made to be so: then each cut takes the rest of its line
    as well, and at last the whole text goes, which bounds the turns.
    """
    for turn in range(_MOST_TURNS):
        findings = yield from _finding_after(context, text)
        if not findings:
            return text
        text = _without(findings, text, whole_lines=turn >= _PRECISE_TURNS)
    findings = yield from _finding_after(context, text)
    return placeholder(findings[0].kind) if findings else text


def _without(findings: Sequence[SecretFinding], text: str, *, whole_lines: bool) -> str:
    pieces = []
    position = 0
    for finding in findings:
        if finding.start < position:
            continue  # the line before it took it along
        pieces += [text[position : finding.start], placeholder(finding.kind)]
        end_of_line = text.find("\n", finding.end) if whole_lines else finding.end
        position = len(text) if end_of_line < 0 else end_of_line
    return "".join([*pieces, text[position:]])


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
