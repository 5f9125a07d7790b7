"""The calls to one provider: measured, and their troubles told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio

from elf.core.errors import ProviderBroken, ProviderRefused, ProviderUnavailable
from elf.core.measures import CallOutcome, Measures, NoMeasures
from elf.providers.trouble import Trouble


class Calls:
    """Measures calls to the provider of the config table `name`, such as providers.embedding."""

    def __init__(self, name: str, provider_id: str, measures: Measures | None) -> None:
        self.label = f"{name} ({provider_id})"
        self._table = name.removeprefix("providers.")
        self._measures: Measures = measures or NoMeasures()
        self._trouble = Trouble(self.label)

    @contextmanager
    def measured(self, failed_tries: Callable[[], int] = lambda: 0) -> Iterator[None]:
        """Measure one call, made within; `failed_tries` says at its end how many of its tries failed."""
        began = time.perf_counter()
        outcome: CallOutcome = "failed"
        try:
            yield
            outcome = "answered"
            self._trouble.over()
        except ProviderUnavailable as error:
            outcome = _outcome(error)
            self._trouble.met(outcome, error.message)
            raise
        except anyio.get_cancelled_exc_class():
            outcome = "cancelled"
            raise
        finally:
            self._measures.provider_call(
                provider=self._table,
                outcome=outcome,
                seconds=time.perf_counter() - began,
                failed_tries=failed_tries(),
            )


def _outcome(error: ProviderUnavailable) -> CallOutcome:
    if isinstance(error, ProviderRefused):
        return "refused"
    return "broken" if isinstance(error, ProviderBroken) else "unavailable"
