"""A thread belongs to the agent that wrote its first checkpoint: another agent reads it, and writes it by no call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from elf.client import Client
from elf.client.errors import ScopeDenied
from elf.langgraph import ElfSaver
from tests.adapters.saver_kit import graph_with, thread
from tests.db.assistant.assistant_kit import assistant_config, served_beside_the_others
from tests.folders import fresh_folder
from tests.keys_kit import with_keys
from tests.system.planting import dsn_of, in_tables
from tests.system.service import RunningService, write_config

TENANT: Final = "acme"
AGENTS: Final = {"planner": "planner", "stylist": "stylist", "free": None, "admin": None}
KEYS: Final = {name: f"{name:k<43}" for name in AGENTS}
RUN: Final = "run"
Saver = Callable[[str], ElfSaver]


def keyed(config: Path) -> Path:
    """Give a config a key of each agent, and two that are bound to none."""
    tables = [
        {"key": KEYS[name], "name": f"bot of {name}"}
        | ({} if agent is None else {"agent_id": agent})
        | ({"role": "admin"} if name == "admin" else {})
        for name, agent in AGENTS.items()
    ]
    config.write_text(with_keys(config.read_text(encoding="utf-8"), *tables), encoding="utf-8")
    return config


def served(folder: Path, table: str = "") -> Any:
    """Run a service in this process."""
    return served_beside_the_others(keyed(assistant_config(folder, table)))


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    """A service with its admin front."""
    with fresh_folder() as folder:
        config = keyed(write_config(folder, cache_dir=f'"{model_folder}"'))
        with RunningService(config) as running:
            yield running


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with fresh_folder() as folder, served(Path(folder)) as url:
        yield url


def savers(url: str) -> Iterator[Saver]:
    """Give the saver of a key; all are of one user of a tenant of their own."""
    tenant = uuid4().hex
    clients = {name: Client(url, tenant_id=tenant, api_key=key) for name, key in KEYS.items()}
    yield lambda name: ElfSaver(clients[name], user_id="ana")
    for client in clients.values():
        client.close()


@pytest.fixture
def saver(address: str) -> Iterator[Saver]:
    yield from savers(address)


def put(saver: ElfSaver, thread_id: str) -> None:
    saver.put(thread(thread_id, checkpoint_ns=""), empty_checkpoint(), {"run_id": RUN}, {})


def put_writes(saver: ElfSaver, thread_id: str) -> None:
    found = saver.get_tuple(thread(thread_id))
    place = thread(thread_id, checkpoint_ns="", checkpoint_id=found.checkpoint["id"] if found else "1")
    saver.put_writes(place, [("messages", ["planted"])], "task")


WRITES: Final[dict[str, tuple[Callable[[ElfSaver, str], None], str]]] = {
    "put": (put, "thread_id"),
    "put_writes": (put_writes, "thread_id"),
    "delete_thread": (lambda saver, name: saver.delete_thread(name), "thread_ids[0]"),
    "delete_for_runs": (lambda saver, _: saver.delete_for_runs([RUN]), "run_ids"),
    "prune": (lambda saver, name: saver.prune([f"no {name}", name]), "thread_ids[1]"),
    "prune all": (lambda saver, name: saver.prune([name], strategy="delete"), "thread_ids[0]"),
    "copy_thread": (lambda saver, name: saver.copy_thread("source", name), "target_thread_id"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITES)
def test_another_agent_may_not_write_a_thread(saver: Saver, name: str) -> None:
    write, path = WRITES[name]
    put(saver("stylist"), "source") if name == "copy_thread" else None
    put(saver("planner"), "t1")
    was = list(saver("planner").list(None))
    with pytest.raises(ScopeDenied, match="belongs to another agent") as refused:
        write(saver("stylist"), "t1")
    assert refused.value.fields == (path,)
    assert list(saver("stylist").list(None)) == was  # it reads it
    write(saver("free"), "t1")
    assert list(saver("planner").list(None)) != was or name == "prune"
    write(saver("planner"), "t1")


@pytest.mark.parametrize("name", WRITES)
def test_a_thread_that_no_agent_began_is_open_to_all(saver: Saver, name: str) -> None:
    write, _ = WRITES[name]
    for place, agent in enumerate(("planner", "stylist")):
        put(saver("free"), f"t{place}")
        put(saver(agent), f"t{place}")
        put(saver("free"), "source")
        write(saver(agent), f"t{place}")


def test_what_is_left_of_a_thread_belongs_to_its_agent_still(saver: Saver) -> None:
    for _ in range(3):
        put(saver("planner"), "t1")
    put(saver("free"), "t1")
    saver("planner").prune(["t1"])
    with pytest.raises(ScopeDenied):
        put(saver("stylist"), "t1")
    saver("planner").delete_thread("t1")
    put(saver("stylist"), "t1")
    with pytest.raises(ScopeDenied):
        put(saver("planner"), "t1")


def test_a_copy_belongs_to_the_agent_that_made_it(saver: Saver) -> None:
    put(saver("planner"), "t1")
    saver("stylist").copy_thread("t1", "t2")
    put(saver("stylist"), "t2")
    with pytest.raises(ScopeDenied):
        put(saver("planner"), "t2")


def test_of_agents_that_begin_a_thread_at_once_one_has_it(saver: Saver) -> None:
    def attempt(name: str, thread_id: str) -> bool:
        try:
            put(saver(name), thread_id)
        except ScopeDenied:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        for number in range(20):
            names = ["planner", "stylist"] * 4
            began = list(pool.map(lambda name, of=f"t{number}": attempt(name, of), names))
            winners = {name for name, has_begun in zip(names, began, strict=True) if has_begun}
            assert len(winners) == 1
            assert sum(began) == 4


def test_the_threads_of_an_agent_that_is_erased_stay_and_are_nobodys(service: RunningService) -> None:
    with (
        Client(service.url, tenant_id=TENANT, api_key=KEYS["planner"]) as planner,
        Client(service.url, tenant_id=TENANT, api_key=KEYS["stylist"]) as stylist,
    ):
        put(ElfSaver(planner, user_id="ana"), "t1")
        kept = list(ElfSaver(planner, user_id="ana").list(None))
        erased = service.admin.post(
            "/v1/admin/assistant/erase", json={"tenant_id": TENANT, "what": "agent", "name": "planner"},
            headers={"X-API-Key": KEYS["admin"]},
        )  # fmt: skip
        assert erased.status_code == 200, erased.text
        assert "saver_checkpoints" not in "".join(in_tables(dsn_of(service), ["planner"]))
        assert list(ElfSaver(stylist, user_id="ana").list(None)) == kept
        put(ElfSaver(stylist, user_id="ana"), "t1")


def test_threads_of_other_users_and_tenants_are_of_other_agents(saver: Saver, address: str) -> None:
    put(saver("planner"), "t1")
    with Client(address, tenant_id=uuid4().hex, api_key=KEYS["stylist"]) as client:
        put(ElfSaver(client, user_id="ana"), "t1")
        put(ElfSaver(client, user_id="ben"), "t1")


def test_agents_share_threads_where_the_config_says_so() -> None:
    with fresh_folder() as folder, served(Path(folder), "share_threads = true") as url:
        for saver in savers(url):
            graph_with(saver("planner")).invoke({"messages": ["hi"]}, thread())
            put(saver("planner"), "source")
            for write, _ in WRITES.values():
                put(saver("planner"), "t1")
                write(saver("stylist"), "t1")
