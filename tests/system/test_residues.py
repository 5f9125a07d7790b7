"""Whatever is left of an erased user, wherever and in whatever form, makes verification false, and is named."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from elf.client import Client
from tests.folders import fresh_folder
from tests.system import planting
from tests.system.planting import TENANT
from tests.system.residues import left, residues
from tests.system.service import RunningService, wait_for, write_config


@pytest.fixture
def service(model_folder: Path) -> Iterator[RunningService]:
    with (
        fresh_folder() as folder,
        RunningService(write_config(folder, cache_dir=f'"{model_folder}"')) as service,
    ):
        yield service


def test_each_residue_makes_verification_false_and_is_named(service: RunningService) -> None:
    gone = planting.plant(service)
    kept = planting.plant(service)
    with Client(
        service.url, tenant_id=TENANT, project_id=kept.user, agent_id=kept.agent, token=kept.user
    ) as client:
        client.knowledge.create_entity(kept.word, "place")
        client.assistant.turn("t", "1", [{"role": "user", "content": "I live in Lisbon."}], user_id=kept.user)
    service.search(TENANT, "tea?")
    wait_for(
        lambda: planting.in_tables(planting.dsn_of(service), ["tea?"]).get("public.search_traces"),
        "it is traced",
    )
    seeded = residues(gone.user, gone.word)
    texts = sorted({one.text for one in seeded})
    assert len(seeded) >= 20
    with Client(service.admin_url, tenant_id=TENANT, timeout_s=300) as admin:
        receipt = admin.memories.erase(user_id=gone.user)
        unnamed = {}
        for residue in seeded:
            with left(service, planting.AGENT, residue):
                proof = admin.memories.prove(receipt, user_id=gone.user, texts=texts)
                places = {one.place for one in proof.found}
                if proof.proven or residue.place not in places:
                    unnamed[residue] = places
        assert unnamed == {}
        proof = admin.memories.prove(receipt, user_id=gone.user, texts=texts)
        assert (proof.proven, proof.found) == (True, [])
