"""Telling the log what is wrong with a provider, plainly and not too often."""

from __future__ import annotations

from typing import Final

import anyio
import structlog

TELL_AGAIN_S: Final = 60.0

_log = structlog.get_logger()


class Trouble:
    """Says what a provider fails by at the first failure of a kind, and once a minute while it goes on.

    `label` names the provider, such as `providers.embedding (acme)`.
    """

    def __init__(self, label: str) -> None:
        self._label = label
        self._told: dict[str, float] = {}
        self._untold: dict[str, int] = {}
        self._is_told = False

    def met(self, kind: str, problem: str) -> None:
        """Note a failure. Kinds are few; `problem` holds nothing of a request or an answer."""
        now = anyio.current_time()
        if now < self._told.get(kind, -TELL_AGAIN_S) + TELL_AGAIN_S:
            self._untold[kind] = self._untold.get(kind, 0) + 1
            return
        self._told[kind] = now
        self._is_told = True
        _log.warning(
            "provider.trouble",
            provider=self._label,
            kind=kind,
            problem=problem,
            more=self._untold.pop(kind, 0),
        )

    def over(self) -> None:
        """Note a call that went well: told once after each trouble that was told."""
        if self._is_told:
            self._is_told = False
            _log.info("provider.trouble_over", provider=self._label)
