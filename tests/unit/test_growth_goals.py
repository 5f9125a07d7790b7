"""Which goals of ops/bench/growth.py its figures meet."""

from __future__ import annotations

import pytest

from ops.bench.growth import FULL_SIZE, MIDDLE_SIZE, Figures, Latency, goals

WARM = Latency(p50=10.0, p95=15.0)
COLD = Latency(p50=15.0, p95=50.0)  # just within the goals


def figures(
    *, warm: Latency = WARM, restarted: Latency = COLD, joined: Latency = COLD, memory: float = 800.0
) -> Figures:
    return Figures(
        notes=0,
        warm=warm,
        stages={},
        restarted=restarted,
        joined=joined,
        database=1.0,
        index=1.0,
        memory=memory,
    )


def missed(measured: dict[int, Figures]) -> list[str]:
    return [goal.name for goal in goals(measured) if not goal.holds]


def test_figures_at_their_limits_meet_all_goals() -> None:
    full = figures(warm=Latency(25.0, 99.0), restarted=Latency(37.5, 125.0), joined=Latency(37.5, 125.0))
    measured = {MIDDLE_SIZE: figures(), FULL_SIZE: full}
    assert missed(measured) == []
    assert len(list(goals(measured))) == 10


@pytest.mark.parametrize(
    ("full", "goal"),
    [
        (figures(warm=Latency(25.1, 99.0)), "p50 at 100,000 notes over that at 10,000"),
        (figures(memory=800.1), "100,000 notes, memory in MB"),
        (
            figures(restarted=Latency(15.1, 50.0)),
            "100,000 notes, first 50 after a restart, p50 over that of warm ones",
        ),
        (
            figures(restarted=Latency(15.0, 50.1)),
            "100,000 notes, first 50 after a restart, p95 over the p50 of warm ones",
        ),
        (
            figures(joined=Latency(15.1, 50.0)),
            "100,000 notes, first 50 of one more process, p50 over that of warm ones",
        ),
        (
            figures(joined=Latency(15.0, 50.1)),
            "100,000 notes, first 50 of one more process, p95 over the p50 of warm ones",
        ),
    ],
)
def test_a_figure_beyond_its_limit_misses_its_goal_alone(full: Figures, goal: str) -> None:
    assert missed({MIDDLE_SIZE: figures(), FULL_SIZE: full}) == [goal]


def test_a_short_run_is_judged_by_what_it_measured() -> None:
    assert len(list(goals({1000: figures(memory=9000.0)}))) == 4
    assert missed({1000: figures(memory=9000.0)}) == []
