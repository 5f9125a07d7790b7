"""The write gate: the rules every note passes before it is stored, whoever wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from elf.config.model import NOTE_TYPES
from elf.core.blank_text import is_blank
from elf.core.cjk import contains_cjk
from elf.core.scopes import ScopeRules
from elf.core.secrets import find_secret, is_clean, is_plain_name

RejectCode = Literal[
    "REJECT_EMPTY",
    "REJECT_CJK",
    "REJECT_TOO_LONG",
    "REJECT_INVALID_TYPE",
    "REJECT_SCOPE_DENIED",
    "REJECT_SECRET",
    "REJECT_EVIDENCE_MISMATCH",
    "REJECT_MALFORMED",
    "REJECT_QUESTION",
    "REJECT_NO_ANTECEDENT",
    "REJECT_UNSURE",
    "REJECT_TOO_SHORT",
    "CAP_REACHED",
]


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a note may not be stored. The reason never repeats the note's text."""

    code: RejectCode
    reason: str


@dataclass(frozen=True, slots=True)
class WriteGate:
    """Checks a note's type, scope, key and text, in the order empty, CJK, length, type, scope, secrets."""

    scopes: ScopeRules
    max_note_chars: int

    def check(self, *, type: str, scope: str, key: str | None, text: str) -> Rejection | None:
        """Return the first rule the note breaks, or None when it may be stored."""
        return (
            self.check_text(text, key=key) or self._check_place(type, scope) or self._check_secrets(text, key)
        )

    def check_update(self, *, text: str, key: str | None) -> Rejection | None:
        """Return the first rule that a new text of a stored note breaks, or None."""
        return self.check_text(text, key=key) or self._check_secrets(text, key)

    def check_text(self, text: str, *, key: str | None) -> Rejection | None:
        """Return what is wrong with the text alone: empty, CJK or too long."""
        if is_blank(text):
            return Rejection("REJECT_EMPTY", "the text is empty")
        if contains_cjk(text) or (key is not None and contains_cjk(key)):
            return Rejection("REJECT_CJK", "the note holds CJK text")
        if len(text) > self.max_note_chars:
            return Rejection(
                "REJECT_TOO_LONG",
                f"the text has {len(text)} characters; at most {self.max_note_chars} are allowed",
            )
        return None

    def _check_place(self, type: str, scope: str) -> Rejection | None:
        if type not in NOTE_TYPES:
            return Rejection("REJECT_INVALID_TYPE", f"the type must be one of {', '.join(NOTE_TYPES)}")
        if not self.scopes.is_known(scope):
            return Rejection(
                "REJECT_SCOPE_DENIED", f"the scope must be one of {', '.join(self.scopes.allowed)}"
            )
        if not self.scopes.is_writable(scope):
            return Rejection("REJECT_SCOPE_DENIED", f"the scope {scope} may not be written")
        return None

    def _check_secrets(self, text: str, key: str | None) -> Rejection | None:
        # A key gives its text a meaning: "hunter2" is a word, under the key db_password it is a password.
        key = key or ""
        context = key.replace("_", " ").replace("-", " ") + ": "
        if is_clean(context, text) and (is_plain_name(key) or find_secret(key) is None):
            return None
        for part in (text, key, context + text):
            finding = find_secret(part)
            if finding is not None:
                return Rejection(
                    "REJECT_SECRET", f"the note holds a secret or personal data of kind {finding.kind}"
                )
        return None
