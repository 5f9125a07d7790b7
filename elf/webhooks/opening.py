"""Puts webhooks to work in a process."""

from __future__ import annotations

from typing import Final

import httpx

from elf.config.webhooks import Webhook
from elf.db.garbage import GarbageStep
from elf.db.queries import Queries, sql_folder
from elf.family import Opened, together
from elf.ground import Ground
from elf.outbox.given_up import JobSubject
from elf.outbox.leased import LeasedOutbox, Retries, outbox_queries
from elf.outbox.queue import Queue
from elf.webhooks.jobs import Deliveries
from elf.webhooks.model import FAMILY, TABLE
from elf.webhooks.registration import LeftOver, Registration
from elf.webhooks.sending import Receiver
from elf.webhooks.service import WebhookService
from elf.webhooks.subjects import WebhookSubjects

LEASE_S: Final = 60.0
FIRST_RETRY_S: Final = 1.0
LONGEST_RETRY_S: Final = 3600.0
MOST_OF_A_LANE: Final = 16
"""How many events of one lane are leased at once."""
POLL_S: Final = 0.25
"""How long an event waits at most for somebody to look: those who write ring no bell for it."""


def open_webhooks(ground: Ground) -> Opened:
    """Return the webhooks at work. Raises StartupError when their statements cannot be read."""
    config, database = ground.config, ground.database
    queries = Queries.load(sql_folder() / FAMILY, values={"webhook": ""})
    left_over = LeftOver(database, queries)
    ring = {webhook.name: ground.ring(queue_of(webhook)) for webhook in config.webhooks}
    service = WebhookService(database, queries, ring)
    return together(
        [
            Opened(
                handlers=service.handlers() if ground.roles.administers else {},
                owners=[Registration(database, queries, config.webhooks)] if ground.roles.works else [],
                garbage=[
                    GarbageStep(FAMILY, "unknown_webhook_events", left_over.drop_unknown),
                    GarbageStep(FAMILY, "old_webhook_dead_letters", left_over.drop_old),
                ],
                subjects=WebhookSubjects(database, queries),
            ),
            *(_open_webhook(ground, webhook) for webhook in config.webhooks),
        ]
    )


def _open_webhook(ground: Ground, webhook: Webhook) -> Opened:
    """Return what delivers to one receiver: in a queue of its own, so that nobody waits for a slow one."""
    queries = webhook_queries(webhook.name)
    outbox = LeasedOutbox(
        ground.database,
        queries,
        table=f"{TABLE} of {webhook.name}",
        lease_seconds=LEASE_S,
        terms=[MOST_OF_A_LANE],
        retries=Retries(first_s=FIRST_RETRY_S, longest_s=LONGEST_RETRY_S, most=webhook.attempts),
    )
    name = queue_of(webhook)
    if not ground.roles.works:
        return Opened(outboxes={name: outbox})
    tls = httpx.create_ssl_context(trust_env=False) if webhook.url.startswith("https:") else None
    receiver = Receiver(webhook, ground.clock, tls=tls)
    deliveries = Deliveries(ground.database, queries, outbox, receiver)
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


def webhook_queries(webhook: str) -> Queries:
    """Read the statements of the outbox of one webhook. Raises StartupError when a file cannot be read."""
    own = Queries.load(sql_folder() / FAMILY, values={"webhook": webhook})
    about = JobSubject(kind="o.kind", id="o.item_id", which=f"o.webhook = '{webhook}'")
    return outbox_queries(TABLE, subject="event_id", about=about, own=own)


def queue_of(webhook: Webhook) -> str:
    """Return the name of the queue of a webhook."""
    return f"webhook_{webhook.name}"
