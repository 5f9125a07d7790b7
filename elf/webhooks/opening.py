"""Puts webhooks to work in a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import httpx

from elf.config.webhooks import Webhook
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries, sql_folder
from elf.family import Gauge, Opened, Total, together
from elf.ground import Ground
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, Retries, outbox_queries
from elf.outbox.queue import Queue
from elf.search.breaker import BreakerState, CircuitBreaker
from elf.webhooks.backlog import Backlog
from elf.webhooks.jobs import Deliveries
from elf.webhooks.model import FAMILY, TABLE
from elf.webhooks.registration import LeftOver, Registration
from elf.webhooks.sending import NotDelivered, Receiver, ReceiverPaused
from elf.webhooks.service import WebhookService
from elf.webhooks.subjects import WebhookSubjects

LEASE_S: Final = 60.0
FIRST_RETRY_S: Final = 1.0
LONGEST_RETRY_S: Final = 3600.0
MOST_OF_A_LANE: Final = 16
"""How many events of one lane are leased at once."""
FAILURES_TO_PAUSE: Final = 5
"""After how many failures in a row, of whatever events, a receiver is only tried from time to time."""
FIRST_PAUSE_S: Final = 1.0
LONGEST_PAUSE_S: Final = 15.0
POLL_S: Final = 0.25
"""How long an event waits at most for somebody to look: those who write ring no bell for it."""


def open_webhooks(ground: Ground) -> Opened:
    """Return the webhooks at work. Raises StartupError when their statements cannot be read."""
    config, database = ground.config, ground.database
    queries = Queries.load(sql_folder() / FAMILY, values={"webhook": ""})
    left_over = LeftOver(database, queries)
    ring = {webhook.name: ground.ring(queue_of(webhook)) for webhook in config.webhooks}
    service = WebhookService(database, queries, ring)
    shared = Opened(
        handlers=service.handlers() if ground.roles.administers else {},
        owners=[Registration(database, queries, config.webhooks)] if ground.roles.works else [],
        garbage=[
            GarbageStep(FAMILY, "unknown_webhook_events", left_over.drop_unknown),
            GarbageStep(FAMILY, "old_webhook_dead_letters", left_over.drop_old),
        ],
        subjects=WebhookSubjects(database, queries),
    )
    if not ground.roles.works:
        return together([shared, *(_open_outbox(ground, webhook) for webhook in config.webhooks)])
    breakers = {webhook.name: receiver_breaker(webhook.name) for webhook in config.webhooks}
    backlogs = [
        Backlog(database, webhook_queries(webhook.name), webhook, ground.clock) for webhook in config.webhooks
    ]
    return together(
        [
            shared,
            *(_open_queue(ground, webhook, breakers[webhook.name]) for webhook in config.webhooks),
            Opened(owners=backlogs, gauges=[_unavailable(breakers)], totals=[_dropped(backlogs)]),
        ]
    )


def _open_outbox(ground: Ground, webhook: Webhook) -> Opened:
    """Return the outbox of a webhook in a process that delivers nothing."""
    return Opened(outboxes={queue_of(webhook): _outbox(ground, webhook, webhook_queries(webhook.name))})


def _open_queue(ground: Ground, webhook: Webhook, breaker: CircuitBreaker) -> Opened:
    """Return what delivers to one receiver: in a queue of its own, so that nobody waits for a slow one."""
    queries = webhook_queries(webhook.name)
    outbox = _outbox(ground, webhook, queries, is_paused=lambda: breaker.refuses)
    tls = httpx.create_ssl_context(trust_env=False) if webhook.url.startswith("https:") else None
    receiver = Receiver(webhook, ground.clock, tls=tls)
    deliveries = Deliveries(ground.database, queries, outbox, receiver, breaker)
    name = queue_of(webhook)
    queue = Queue(
        family=FAMILY,
        name=name,
        outbox=outbox,
        handle=deliveries.handle,
        concurrency=2,
        batch_size=64,
        poll_interval_s=POLL_S,
    )
    return Opened(outboxes={name: outbox}, queues=[queue], owners=[receiver])


def _outbox(
    ground: Ground, webhook: Webhook, queries: Queries, *, is_paused: Callable[[], bool] = lambda: False
) -> LeasedOutbox:
    return LeasedOutbox(
        ground.database,
        queries,
        table=f"{TABLE} of {webhook.name}",
        lease_seconds=LEASE_S,
        terms=[MOST_OF_A_LANE],
        retries=Retries(first_s=FIRST_RETRY_S, longest_s=LONGEST_RETRY_S, most=webhook.attempts),
        is_paused=is_paused,
    )


def receiver_breaker(webhook: str) -> CircuitBreaker:
    """Return what pauses all deliveries to a receiver that takes none, and lets one through now and then."""
    return CircuitBreaker(
        f"the receiver of webhook {webhook}",
        failures_to_open=FAILURES_TO_PAUSE,
        open_s=FIRST_PAUSE_S,
        longest_open_s=LONGEST_PAUSE_S,
        refusal=ReceiverPaused,
        failures=(NotDelivered,),
    )


def _unavailable(breakers: Mapping[str, CircuitBreaker]) -> Gauge:
    return Gauge(
        name="elf_webhook_receiver_unavailable",
        about="Whether a receiver is sent one event now and then only, for it took none of the last ones.",
        labels=("webhook",),
        read=lambda: {
            (name,): float(breaker.state is not BreakerState.CLOSED) for name, breaker in breakers.items()
        },
    )


def _dropped(backlogs: Sequence[Backlog]) -> Total:
    return Total(
        name="elf_webhook_events_dropped_total",
        about="Events of a webhook dropped beyond its max_backlog or max_backlog_age_s.",
        labels=("webhook", "bound"),
        read=lambda: {labels: events for backlog in backlogs for labels, events in backlog.dropped().items()},
    )


def webhook_queries(webhook: str) -> Queries:
    """Read the statements of the outbox of one webhook. Raises StartupError when a file cannot be read."""
    own = Queries.load(sql_folder() / FAMILY, values={"webhook": webhook})
    about = JobSubject(kind="o.kind", id="o.item_id", which=f"o.webhook = '{webhook}'")
    return outbox_queries(TABLE, subject="event_id", about=about, own=own)


def queue_of(webhook: Webhook) -> str:
    """Return the name of the queue of a webhook."""
    return f"webhook_{webhook.name}"
