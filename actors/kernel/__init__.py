"""Actors and what keeps them running; knows anyio and the standard library, nothing of elf."""

from __future__ import annotations

from actors.kernel.actor import Actor
from actors.kernel.channel import Channel, ChannelStatistics, WhenFull
from actors.kernel.failure import ActorEnded, ActorGaveUp
from actors.kernel.policy import RestartHistory, RestartPolicy
from actors.kernel.status import ActorState, ActorStatus, SupervisorEvent, SupervisorSnapshot
from actors.kernel.supervisor import Supervisor
from actors.kernel.ticker import Ticker

__all__ = [
    "Actor",
    "ActorEnded",
    "ActorGaveUp",
    "ActorState",
    "ActorStatus",
    "Channel",
    "ChannelStatistics",
    "RestartHistory",
    "RestartPolicy",
    "Supervisor",
    "SupervisorEvent",
    "SupervisorSnapshot",
    "Ticker",
    "WhenFull",
]
