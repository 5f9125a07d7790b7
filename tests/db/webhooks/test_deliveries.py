"""Delivering from the outbox: at least once, in order in each lane, by several processes that fail and die."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Literal
from uuid import UUID

import anyio
import asyncpg
import pytest

from elf.config.webhooks import Webhook
from elf.db.database import Database
from elf.db.errors import Retryable
from elf.db.queries import Queries, sql_folder
from elf.offers import Subject
from elf.outbox.leased import JobsFailed, LeasedOutbox, LeaseLost, Retries
from elf.search.breaker import CircuitBreaker
from elf.webhooks.backlog import Backlog
from elf.webhooks.jobs import Deliveries
from elf.webhooks.model import FAMILY, Event
from elf.webhooks.opening import FAILURES_TO_PAUSE, MOST_OF_A_LANE, receiver_breaker, webhook_queries
from elf.webhooks.registration import LeftOver, Registration
from elf.webhooks.sending import CALLS_AT_ONCE, NotDelivered
from elf.webhooks.subjects import WebhookSubjects
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.db.notes.test_query_plans import explain
from tests.notes_kit import TurnedClock

pytestmark = pytest.mark.anyio

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
AT_ONCE = Retries(first_s=0.0, longest_s=0.0)
ONCE = Retries(first_s=0.0, longest_s=0.0, most=1)
QUERIES = Queries.load(sql_folder() / FAMILY, values={"webhook": ""})


def webhook(name: str, **fields: Any) -> Webhook:
    return Webhook(name=name, url="https://hooks.example.com/", secret=SECRET, **fields)


async def register(database: Database, *webhooks: Webhook) -> None:
    await Registration(database, QUERIES, webhooks).write()


async def tell(
    database: Database, item: str, *, user: str = "ana", what: str = "written", tenant: str = "t"
) -> None:
    async with database.connection() as connection:
        await connection.execute(
            "SELECT tell_change($1, 'store', 'value', $2, $3, owner => $4)", what, item, tenant, user
        )


def outbox_of(
    database: Database,
    name: str,
    *,
    retries: Retries = AT_ONCE,
    lease_s: float = 60.0,
    breaker: CircuitBreaker | None = None,
) -> LeasedOutbox:
    return LeasedOutbox(
        database,
        webhook_queries(name),
        table=name,
        lease_seconds=lease_s,
        terms=[MOST_OF_A_LANE],
        retries=retries,
        is_paused=lambda: breaker is not None and breaker.refuses,
    )


class Listener:
    """Notes what it is told; now and then it fails, or never answers."""

    def __init__(self, *, fails: float = 0.0, hangs: float = 0.0, seed: int = 0) -> None:
        self.told: list[Event] = []
        self.fails = fails
        self.hangs = hangs
        self._rng = random.Random(seed)

    async def send(self, event: Event) -> None:
        await anyio.sleep(self._rng.random() * 0.002)
        chance = self._rng.random()
        if chance < self.hangs:
            await anyio.sleep_forever()
        if chance < self.hangs + self.fails / 2:
            raise NotDelivered("it says no", cause="refused")
        self.told.append(event)
        if chance < self.hangs + self.fails:  # it has it, and nobody hears so
            raise NotDelivered("the answer is lost", cause="unclear")

    def items(self, **owner: str) -> list[str]:
        """Return what it was told for the first time, in its order."""
        events = {one.event_id: one for one in self.told}
        return [one.item_id for one in events.values() if not owner or one.user_id == owner["user"]]


def deliveries(
    database: Database, outbox: LeasedOutbox, listener: Listener, breaker: CircuitBreaker | None = None
) -> Deliveries:
    breaker = breaker or receiver_breaker("all")
    return Deliveries(database, QUERIES, outbox, listener, breaker)  # type: ignore[arg-type]


async def work(
    database: Database,
    outbox: LeasedOutbox,
    listener: Listener,
    *,
    limit: int = 64,
    breaker: CircuitBreaker | None = None,
) -> bool:
    """Do what is due; tells whether there was anything."""
    jobs = await outbox.lease(limit)
    try:
        await deliveries(database, outbox, listener, breaker).handle(jobs)
    except JobsFailed as some:
        await outbox.fail([job for job, _ in some.failed], "no")
    outbox.let_go(jobs)
    return bool(jobs)


async def drain(database: Database, name: str, listener: Listener) -> None:
    while await work(database, outbox_of(database, name), listener):
        pass


async def open_rows(database: Database) -> int:
    async with database.connection() as connection:
        return int(await connection.fetchval("SELECT count(*) FROM webhook_outbox"))


async def test_nothing_is_kept_where_nobody_wants_to_hear(database: Database) -> None:
    await tell(database, "1")
    assert await open_rows(database) == 0


async def test_each_webhook_is_told_what_it_wants_by_one_id(database: Database) -> None:
    await register(
        database,
        webhook("all"),
        webhook("forgotten", events=["forgotten"]),
        webhook("notes", families=["notes"]),
        webhook("acme", tenants=["acme"]),
    )
    await tell(database, "1")
    await tell(database, "1", what="forgotten", tenant="acme")
    told: dict[str, Listener] = {name: Listener() for name in ("all", "forgotten", "notes", "acme")}
    for name, listener in told.items():
        await drain(database, name, listener)
    assert {name: [one.event for one in listener.told] for name, listener in told.items()} == {
        "all": ["written", "forgotten"], "forgotten": ["forgotten"], "notes": [], "acme": ["forgotten"],
    }  # fmt: skip
    assert {listener.told[-1].event_id for name, listener in told.items() if name != "notes"} == {
        told["all"].told[1].event_id
    }
    assert await open_rows(database) == 0


async def test_what_the_config_names_no_more_is_told_nothing_and_its_events_go(database: Database) -> None:
    await register(database, webhook("one"), webhook("two"))
    await tell(database, "1")
    await register(database, webhook("two"))
    await tell(database, "2")
    left_over = LeftOver(database, QUERIES)
    assert await left_over.drop_unknown(TurnedClock().now(), 10) == 1
    listener = Listener()
    await drain(database, "two", listener)
    assert listener.items() == ["1", "2"]


async def test_a_lane_waits_for_the_event_that_was_not_taken_and_others_do_not(database: Database) -> None:
    await register(database, webhook("all"))
    for item in range(3):
        await tell(database, f"a{item}", user="ana")
        await tell(database, f"b{item}", user="bob")
    no = _Refusing("a0")
    outbox = outbox_of(database, "all", retries=Retries(first_s=60.0))
    await work(database, outbox, no)
    assert no.items() == ["b0", "b1", "b2"]
    assert not await work(database, outbox, Listener())  # a0 is put off, and a1 and a2 wait for it


async def test_what_is_given_up_lets_the_next_one_go(database: Database) -> None:
    await register(database, webhook("all"))
    for item in ("a0", "a1", "a2"):
        await tell(database, item)
    listener = _Refusing("a0")
    outbox = outbox_of(database, "all", retries=ONCE)
    await work(database, outbox, listener)
    await work(database, outbox, listener)
    assert listener.items() == ["a1", "a2"]
    assert (await outbox.statistics()).given_up == 1


async def test_of_what_was_leased_only_what_is_next_is_sent(database: Database) -> None:
    """Two processes may each lease a part of a lane."""
    await register(database, webhook("all"))
    for item in range(6):
        await tell(database, f"{item}")
    first, second = outbox_of(database, "all"), outbox_of(database, "all")
    early = await first.lease(3)
    async with database.connection() as connection:
        await connection.execute("UPDATE webhook_outbox SET available_at = now() WHERE item_id = '0'")
    first_one, *late = await second.lease(6)
    assert len(late) == 3
    listener = Listener()
    await deliveries(database, second, listener).handle(late)
    assert listener.told == []  # they were given back
    await deliveries(database, second, listener).handle([first_one])
    await deliveries(database, first, listener).handle(early[1:])
    await drain(database, "all", listener)
    assert listener.items() == [f"{item}" for item in range(6)]


@pytest.mark.parametrize("seed", range(4))
async def test_several_processes_tell_each_lane_in_order_and_lose_nothing(
    database: Database, seed: int
) -> None:
    rng = random.Random(seed)
    await register(database, webhook("all"))
    users = [f"u{number}" for number in range(5)]
    sent: dict[str, list[str]] = defaultdict(list)
    listener = Listener(fails=0.3, hangs=0.02, seed=seed)
    is_over = anyio.Event()

    async def write() -> None:
        for number in range(120):
            user = rng.choice(users)
            sent[user].append(f"{number}")
            await tell(database, f"{number}", user=user)
        is_over.set()

    async def process() -> None:
        while not is_over.is_set() or await open_rows(database):
            outbox = outbox_of(database, "all", lease_s=0.3)
            with anyio.move_on_after(0.25):  # it dies: nothing is given back
                await work(database, outbox, listener, limit=20)
            await anyio.sleep(0.005)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            for _ in range(3):
                group.start_soon(process)
    assert {user: listener.items(user=user) for user in users} == {user: sent[user] for user in users}
    assert max(Counter(one.event_id for one in listener.told).values()) > 1  # some were told again


async def test_erasing_somebody_leaves_no_event_of_theirs(database: Database) -> None:
    await register(database, webhook("all"))
    for user, tenant in (("ana", "t"), ("bob", "t"), ("ana", "other")):
        await tell(database, f"of {user} in {tenant}", user=user, tenant=tenant)
    async with database.connection() as connection:  # notes of a user are in the project of the user's name
        await connection.execute("SELECT tell_change('written', 'notes', 'note', 'n', 't', 'ana', 'planner')")
    subjects = WebhookSubjects(database, QUERIES)
    assert await subjects.erase(Subject(tenant_id="t", user="ana")) == {"webhook_events": 2}
    listener = Listener()
    await drain(database, "all", listener)
    assert sorted(listener.items()) == ["of ana in other", "of bob in t"]


async def attempts(database: Database) -> int:
    async with database.connection() as connection:
        return int(await connection.fetchval("SELECT sum(attempts) FROM webhook_outbox"))


async def lanes_without_a_head(database: Database) -> int:
    """Return how many lanes nobody would ever lease from."""
    async with database.connection() as connection:
        return int(
            await connection.fetchval(
                "SELECT count(*) FROM (SELECT DISTINCT ON (webhook, lane) is_head FROM webhook_outbox"
                " WHERE status IN ('PENDING', 'FAILED') ORDER BY webhook, lane, seq) AS first WHERE NOT is_head"
            )
        )


class Away(Listener):
    """Takes nothing until it is back."""

    def __init__(self, cause: Literal["refused", "unreachable", "unclear"]) -> None:
        super().__init__()
        self.calls = 0
        self.is_back = False
        self._cause = cause

    async def send(self, event: Event) -> None:
        self.calls += 1
        if not self.is_back:
            await anyio.lowlevel.checkpoint()
            raise NotDelivered("nobody is there", cause=self._cause)
        await super().send(event)


@pytest.mark.parametrize(("cause", "counted"), [("unreachable", 0), ("unclear", FAILURES_TO_PAUSE - 1)])
async def test_a_receiver_that_takes_nothing_is_not_called_for_each_owner(
    database: Database, cause: Literal["unreachable", "unclear"], counted: int
) -> None:
    await register(database, webhook("all"))
    for number in range(100):
        await tell(database, f"{number}", user=f"u{number}")
    away, breaker = Away(cause), receiver_breaker("all")
    outbox = outbox_of(database, "all", breaker=breaker)
    while await work(database, outbox, away, breaker=breaker):
        pass
    assert away.calls == CALLS_AT_ONCE  # those that were under way when it was seen
    async with database.connection() as connection:
        (seen,) = await connection.fetch(QUERIES["list_webhooks"], None)
    assert seen["waiting"] == 100
    assert counted or seen["last_error"] == "NotDelivered: nobody is there"
    assert await attempts(database) == counted  # the others wait for it, however long
    away.is_back = True
    await drain(database, "all", away)
    assert sorted(away.items()) == sorted(f"{number}" for number in range(100))


async def test_what_a_receiver_refuses_is_an_attempt_also_while_it_takes_nothing(database: Database) -> None:
    await register(database, webhook("all"))
    for number in range(10):
        await tell(database, f"{number}", user=f"u{number}")
    away, breaker = Away("refused"), receiver_breaker("all")
    outbox = outbox_of(database, "all", retries=Retries(first_s=60.0))
    while await work(database, outbox, away, breaker=breaker):
        if breaker.refuses:
            break
    assert await attempts(database) == away.calls == 10


def backlog_of(database: Database, one: Webhook, clock: TurnedClock | None = None) -> Backlog:
    return Backlog(database, webhook_queries(one.name), one, clock or TurnedClock())


async def test_of_too_many_events_the_oldest_go(database: Database) -> None:
    await register(database, small := webhook("all", max_backlog=8), webhook("other"))
    for number in range(2):
        await tell(database, f"bob {number}", user="bob")
    for number in range(20):
        await tell(database, f"ana {number}", user="ana", tenant="t")
    backlog = backlog_of(database, small)
    assert await backlog.trim() == {"max_backlog_age_s": 0, "max_backlog": 14}
    assert await backlog.trim() == {"max_backlog_age_s": 0, "max_backlog": 0}
    assert backlog.dropped() == {("all", "max_backlog"): 14.0, ("all", "max_backlog_age_s"): 0.0}
    listener, other = Listener(), Listener()
    await drain(database, "all", listener)
    assert listener.items(user="ana") == [f"ana {number}" for number in range(12, 20)]
    assert listener.items(user="bob") == []
    await drain(database, "other", other)
    assert len(other.items()) == 22


async def test_of_owners_that_have_as_many_the_oldest_events_go(database: Database) -> None:
    await register(database, small := webhook("all", max_backlog=3))
    for number in range(6):
        await tell(database, f"{number}", user=f"u{number}")
    await backlog_of(database, small).trim()
    await drain(database, "all", listener := Listener())
    assert sorted(listener.items()) == ["3", "4", "5"]


async def test_what_is_being_delivered_is_not_dropped(database: Database) -> None:
    await register(database, small := webhook("all", max_backlog=1, max_backlog_age_s=60))
    for number in range(4):
        await tell(database, f"{number}")
    outbox, listener = outbox_of(database, "all"), Listener()
    jobs = await outbox.lease(2)
    later = TurnedClock(datetime.now(UTC))
    later.turn(days=1)
    assert sum((await backlog_of(database, small, later).trim()).values()) == 2
    await deliveries(database, outbox, listener).handle(jobs)
    assert listener.items() == ["0", "1"]
    assert await open_rows(database) == 0


async def test_what_waited_for_too_long_is_dropped_and_what_is_put_off_too(database: Database) -> None:
    await register(database, brief := webhook("all", max_backlog_age_s=3600))
    await tell(database, "old")
    await work(
        database, outbox_of(database, "all", retries=Retries(first_s=1e6, longest_s=1e6)), _Refusing("old")
    )
    clock = TurnedClock(datetime.now(UTC))
    clock.turn(seconds=3000)
    backlog = backlog_of(database, brief, clock)
    assert sum((await backlog.trim()).values()) == 0
    clock.turn(seconds=1000)
    assert await backlog.trim() == {"max_backlog_age_s": 1, "max_backlog": 0}
    await tell(database, "new")
    await drain(database, "all", listener := Listener())
    assert listener.items() == ["new"]


async def test_operators_see_what_was_dropped_of_a_tenant_until_it_is_erased(database: Database) -> None:
    await register(database, small := webhook("all", max_backlog=1))
    for tenant, events in (("acme", 3), ("other", 2)):
        for number in range(events):
            await tell(database, f"{number}", user=tenant, tenant=tenant)
    await backlog_of(database, small).trim()

    async def dropped(tenant: str | None) -> int:
        async with database.connection() as connection:
            (row,) = await connection.fetch(QUERIES["list_webhooks"], tenant)
        assert (row["last_dropped_at"] is not None) == (row["dropped"] > 0)
        return int(row["dropped"])

    assert [await dropped(tenant) for tenant in ("acme", "other", None)] == [3, 1, 4]
    await WebhookSubjects(database, QUERIES).erase(Subject(tenant_id="acme"))
    assert [await dropped(tenant) for tenant in ("acme", "other", None)] == [0, 1, 1]


@pytest.mark.parametrize("seed", range(3))
async def test_no_lane_is_left_without_a_head_whatever_ends_events(database: Database, seed: int) -> None:
    """Delivering, giving up, dropping, erasing and sending again meet each other and those who write."""
    rng = random.Random(seed)
    await register(database, small := webhook("all", max_backlog=25))
    listener = Listener(fails=0.3, seed=seed)
    users = [f"u{number}" for number in range(4)]
    is_over = anyio.Event()

    async def write() -> None:
        for number in range(150):
            await tell(database, f"{number}", user=rng.choice(users))
        is_over.set()

    async def again() -> None:
        async with database.connection() as connection:
            await connection.fetch(QUERIES["retry_events"], "all", None, None)

    async def erase() -> None:
        await WebhookSubjects(database, QUERIES).erase(Subject(tenant_id="t", user=rng.choice(users)))

    async def process(what: Callable[[], Awaitable[object]]) -> None:
        while not is_over.is_set():
            with suppress(Retryable, LeaseLost):  # a deadlock is resolved, and tried again
                await what()
            assert await lanes_without_a_head(database) == 0
            await anyio.sleep(rng.random() * 0.02)

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            for _ in range(3):
                outbox = outbox_of(database, "all", retries=Retries(first_s=0.0, longest_s=0.0, most=2))
                group.start_soon(process, partial(work, database, outbox, listener, limit=20))
            for what in (backlog_of(database, small).trim, again, erase):
                group.start_soon(process, what)
        while await open_rows(database):
            await drain(database, "all", listener)
            await again()


class _Refusing(Listener):
    def __init__(self, item: str) -> None:
        super().__init__()
        self._item = item

    async def send(self, event: Event) -> None:
        if event.item_id == self._item:
            raise NotDelivered("it says no", cause="refused")
        await super().send(event)


# Plans


@pytest.fixture(scope="module")
def full_dsn(postgres_dsn: str, template_dsn: str) -> Any:
    """A database in which 20,000 events of 2,000 lanes wait for one receiver, a few for another; many are put off."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE many_events TEMPLATE {TEMPLATE}"))
    dsn = dsn_of(postgres_dsn, "many_events")
    seed = """
        INSERT INTO webhooks (name) VALUES ('all'), ('other');
        INSERT INTO webhook_outbox (webhook, event_id, event, family, kind, item_id, tenant_id, user_id, lane, status)
        SELECT CASE i % 100 WHEN 0 THEN 'other' ELSE 'all' END, gen_random_uuid(), 'written', 'store', 'value', i::text,
          't' || i % 20, 'u' || i % 2000, 'lane ' || i % 2000, CASE i % 50 WHEN 1 THEN 'GIVEN_UP' ELSE 'PENDING' END
        FROM generate_series(1, 20000) AS i;
        INSERT INTO webhook_outbox (
          webhook, event_id, event, family, kind, item_id, tenant_id, lane, status, available_at)
        SELECT 'put_off', gen_random_uuid(), 'written', 'store', 'value', i::text, 't', 'lane ' || i, 'FAILED',
          now() + interval '1 hour'
        FROM generate_series(1, 20000) AS i;
        ANALYZE
    """
    asyncio.run(run_sql(dsn, seed))
    yield dsn
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE many_events WITH (FORCE)"))


OWN = webhook_queries("all")
HOT: dict[str, Sequence[Any]] = {
    "list_events_given_up": ("all", 0, None, 50),
    "erase_events": ("t1", "u1", None, "u1"),
    "lease_jobs": (64, timedelta(seconds=60), MOST_OF_A_LANE),
    "drop_oldest": (datetime(2026, 1, 1, tzinfo=UTC), 500),
    "finish_jobs": ([UUID(int=1)], [1]),
}


@pytest.mark.parametrize("kind", ["custom", "generic"])
@pytest.mark.parametrize("name", HOT)
async def test_events_are_found_by_an_index(full_dsn: str, name: str, kind: str) -> None:
    plan = await explain(full_dsn, OWN[name], tuple(HOT[name]), kind)
    assert "webhook_outbox" not in plan.scanned


async def test_what_is_put_off_costs_a_lease_nothing(full_dsn: str) -> None:
    connection = await asyncpg.connect(full_dsn)
    explained = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {webhook_queries('put_off')['lease_jobs']}"
    plan = json.loads(await connection.fetchval(explained, 64, timedelta(seconds=60), MOST_OF_A_LANE))[0][
        "Plan"
    ]
    await connection.close()
    assert plan["Actual Rows"] == 0
    assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 20


async def test_the_next_of_each_lane_are_leased_without_a_look_at_the_others(full_dsn: str) -> None:
    database = Database(max_conns=2)
    await database.open(full_dsn)
    jobs = await outbox_of(database, "all").lease(64)
    async with database.connection() as connection:
        rows = await connection.fetch(
            "SELECT count(*) AS number, min(seq) AS first FROM webhook_outbox"
            " WHERE outbox_id = ANY ($1::uuid[]) GROUP BY lane",
            [job.outbox_id for job in jobs],
        )
    await database.close()
    assert len(jobs) == 64
    assert max(row["number"] for row in rows) <= MOST_OF_A_LANE
