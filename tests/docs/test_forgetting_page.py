"""docs/forgetting.md, run as one program: it prints what the page says, and the page names all that is offered."""

from __future__ import annotations

import re

import pytest

from elf.client.families.memories_kept import KeptMemories
from elf.client.family import methods_of
from elf.memory.api.erasing import ERASING, Found, Proof, Receipt
from elf.memory.api.forgetting import FORGET, ForgetCandidate, ForgetMemories, Forgotten, ForgottenItem
from elf.memory.api.transferring import TRANSFERRING, ExportedLine
from tests.pages import DOCS, Page
from tests.system.service import RunningService

PAGE = "forgetting.md"


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / PAGE).read_text(encoding="utf-8")


def test_the_programs_of_the_page_do_what_it_says(service: RunningService, tenant: str) -> None:
    here = {
        "http://127.0.0.1:8765": service.url,
        "http://127.0.0.1:8767": service.admin_url,
        '"acme"': f'"{tenant}"',
        '"ana"': '"ana-of-the-page"',  # who is named in no other test
    }
    Page(PAGE, here).type_all()


def test_the_page_names_every_operation_method_and_field(page: str) -> None:
    paths = {*re.findall(r"`(?:[A-Z]+ )?(/[A-Za-z0-9_/{}]+)`", page)}
    assert {operation.path for operation in (FORGET, *ERASING, *TRANSFERRING)} - paths == set()
    words = {*re.findall(r"`(?:memory\.memories\.)?([a-z_]+)`", page)}
    assert methods_of(KeptMemories).keys() - words == set()
    models = (ForgetMemories, Forgotten, ForgetCandidate, ForgottenItem, Receipt, Proof, Found, ExportedLine)
    fields = {name for model in models for name in model.model_fields}
    told = {
        "tenant_id",
        "user_id",
        "agent_id",
        "project_id",
        "receipt_id",
        "proven",
        "signed_here",
        "is_of_subject",
    }
    assert fields - words - told == {"place", "count", "item"}
