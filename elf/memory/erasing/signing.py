"""Signing receipts, and hashing the names of those whom they are of, by a key that only the service has."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from elf.api.audit import DataSubject
from elf.db.database import Database
from elf.db.queries import Queries
from elf.memory.erasing.whose import Somebody

KEY_BYTES: Final = 32
ALGORITHM: Final = "hmac-sha256"
SIGNATURE: Final = "signature"


@dataclass(frozen=True, slots=True)
class Signer:
    """Has the key: for each purpose another one is made of it."""

    key: bytes

    def hash(self, somebody: DataSubject) -> str:
        """Return what a receipt, and the audit log, says of whom it is."""
        return self._made("subject", Somebody(*somebody).encoded)

    def sign(self, receipt: Mapping[str, Any]) -> str:
        """Return the signature of all fields of a receipt but the signature itself."""
        signed = {name: value for name, value in receipt.items() if name != SIGNATURE}
        return self._made("receipt", msgspec.json.encode(signed, order="deterministic"))

    def has_signed(self, receipt: Mapping[str, Any]) -> bool:
        """Tell whether a receipt is as it was signed here."""
        return hmac.compare_digest(self.sign(receipt).encode(), str(receipt[SIGNATURE]).encode())

    def _made(self, purpose: str, of: bytes) -> str:
        key = hmac.digest(self.key, purpose.encode(), "sha256")
        return f"{ALGORITHM}:{hmac.digest(key, of, 'sha256').hex()}"


async def signer_of(database: Database, queries: Queries, now: datetime) -> Signer:
    """Return what signs with the key of the service, which is made where there is none yet."""
    async with database.connection() as connection:
        key = await connection.fetchval(queries["read_receipt_key"])
        if key is None:
            made = secrets.token_bytes(KEY_BYTES)
            await connection.execute(queries["make_receipt_key"], made, now)
            key = await connection.fetchval(queries["read_receipt_key"])
    return Signer(key)
