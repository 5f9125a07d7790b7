"""A user who has something in every family is erased while others write: a search proves that nothing is left."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from elf.client import Client, NotFound
from tests.folders import fresh_folder
from tests.system import planting
from tests.system.fork_server import run_elf
from tests.system.planting import TENANT, Planted
from tests.system.service import RunningService, write_config

OWN_AGENT = (
    "supervisor"  # whose categories the assistant knows, and whom no other test has write to the graph here
)


@pytest.fixture
def own_service(model_folder: Path) -> Iterator[RunningService]:
    """A service of its own: all that it keeps is looked through, byte by byte in the end."""
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"')) as service,
    ):
        yield service


def test_nothing_of_an_erased_user_is_left_anywhere(own_service: RunningService) -> None:
    service = own_service
    folder = service.config.parent / ".elf"
    gone, kept = planting.plant(service), planting.plant(service)
    assert set(planting.KINDS) == gone.counts.keys()
    assert len(planting.in_tables(planting.dsn_of(service), gone.needles)) > 15
    assert planting.in_graphs(folder / "graph", gone.needles)
    with Client(service.admin_url, tenant_id=TENANT) as admin:
        before = planting.exported(admin, user_id=kept.user)
        with planting.others_writing(service):
            receipt = admin.memories.erase(user_id=gone.user)
        for family, counts in gone.counts.items():
            assert {kind: receipt.erased[family].get(kind) for kind in counts} == counts, family
        _assert_gone(service, gone, folder)
        assert gone.user not in json.dumps(planting.exported(admin))
        assert planting.exported(admin, user_id=gone.user) == []
        assert planting.exported(admin, user_id=kept.user) == before

        proof = admin.memories.prove(receipt, user_id=gone.user, texts=[gone.word])
        assert (proof.proven, proof.found) == (True, [])
        assert proof.columns > 200
        assert admin.memories.receipt(receipt.receipt_id, user_id=gone.user) == receipt
        others = admin.memories.prove(receipt, user_id=kept.user)
        assert (others.proven, others.is_of_subject) == (False, False)
        assert {"notes", "graph"} <= {one.place.split(":")[0] for one in others.found} | {"notes"}
        forged = {**json.loads(_as_json(receipt)), "kind": "agent"}
        assert not admin.memories.prove(forged, user_id=gone.user).signed_here
        again = admin.memories.erase(user_id=gone.user)
        assert (
            sum(sum(counts.values()) for family, counts in again.erased.items() if family != "memories") == 0
        )
        with Client(service.admin_url, tenant_id="another") as other:
            with pytest.raises(NotFound):
                other.memories.receipt(receipt.receipt_id, user_id=gone.user)
            other.memories.erase(
                user_id=gone.user
            )  # who is named in the audit log, as a user of another tenant
    assert service.complaints() == []
    # The log is where it was sent, and says who called; of what was said it says nothing.
    assert gone.word not in service.log
    assert {json.loads(line)["event"] for line in service.log.splitlines() if gone.user in line} == {
        "request"
    }
    service.stop()
    assert planting.in_bytes(folder, gone.needles)  # in what Postgres has not rewritten yet
    compacted = _elf(service, "erase", "--compact")
    assert compacted.returncode == 0, compacted.stderr
    assert planting.in_bytes(folder, gone.needles) == []
    service.start()  # the index is made anew
    with Client(service.url, tenant_id=TENANT, token=kept.user) as client:
        answer = client.memories.recall(
            f"who went to {kept.word}?", user_id=kept.user, agent_id=planting.AGENT
        )
        assert kept.word in " ".join(item.text for item in answer.items)


def _assert_gone(service: RunningService, gone: Planted, folder: Path) -> None:
    assert planting.in_tables(planting.dsn_of(service), gone.needles) == {}
    assert planting.in_graphs(folder / "graph", gone.needles) == []


def test_what_is_exported_is_the_same_in_an_empty_service(
    service: RunningService, own_service: RunningService
) -> None:
    # An orchestrator of its own: what else is in one moves what is nearly alike.
    planted = planting.plant(service, rounds=3, agent=OWN_AGENT)
    with (
        Client(service.admin_url, tenant_id=TENANT) as here,
        Client(own_service.admin_url, tenant_id=TENANT) as there,
    ):
        lines = planting.exported(here, user_id=planted.user)
        assert {line["family"] for line in lines} == {*planting.KINDS} - {"memories"}
        taken = there.memories.take_in(lines)
        assert (taken.new, taken.known) == (len(lines), 0)
        assert there.memories.take_in(lines).new == 0
        again = planting.exported(there, user_id=planted.user)
        assert planting.alike(again) == planting.alike(lines)
    queries = [
        f"{how} {planted.word}?" for how in ("who went to", "what is deep at", "who met at", "who likes")
    ]
    planting.settle(service, own_service, planted, queries)
    for query in queries:
        assert planting.recalled(own_service, planted, query) == planting.recalled(service, planted, query)


def _as_json(receipt: object) -> bytes:
    import msgspec

    return msgspec.json.encode(receipt)


def _elf(service: RunningService, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_elf(*arguments, "-c", service.config)
