"""Secrets and personal numbers in texts: found, and redacted.

Each module knows one way in which a secret shows: its own shape (`tokens`, `id_numbers`, `phrases`,
`addresses`) or what stands around it (`assignments`, `connections`). E-mail addresses and phone numbers are
not secrets here.
"""

from __future__ import annotations

from elf.core.secrets.finding import SecretFinding
from elf.core.secrets.identifiers import find_credential
from elf.core.secrets.json_redaction import redact_json, redacting_json
from elf.core.secrets.redaction import redact, redacting
from elf.core.secrets.scan import find_secret, find_secrets, is_clean, is_plain_name

__all__ = [
    "SecretFinding",
    "find_credential",
    "find_secret",
    "find_secrets",
    "is_clean",
    "is_plain_name",
    "redact",
    "redact_json",
    "redacting",
    "redacting_json",
]
