"""The tie-breaker of section 13, step 13: recent and important notes win among equals."""

from __future__ import annotations

import math
from datetime import datetime

SECONDS_PER_DAY = 86_400.0


def recency_importance(*, importance: float, updated_at: datetime, now: datetime, tau_days: float) -> float:
    """Return (1 + 0.6 x importance) x exp(-age in days / tau_days); a moment in the future has age 0."""
    age_days = max(0.0, (now - updated_at).total_seconds() / SECONDS_PER_DAY)
    return (1.0 + 0.6 * importance) * math.exp(-age_days / tau_days)
