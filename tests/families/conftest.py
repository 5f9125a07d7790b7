"""A service with every family, its fronts, and who calls it by client and by command line; and all families alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from elf.client import Client
from tests.conftest import TEMPLATE, dsn_of, run_sql
from tests.families.command_line import CommandLine
from tests.families.fronts import Fronts
from tests.families.offers_house import OffersHouse, offers_house
from tests.families.served import config_of_all, fronts_of, service_of_all
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config


@pytest.fixture(scope="session")
def service(model_folder: Path) -> Iterator[RunningService]:
    """One service for all tests here that leave it running; each test works in a tenant of its own."""
    with fresh_folder() as folder:
        config = config_of_all(folder, cache_dir=f'"{model_folder}"')
        with service_of_all(config) as service:
            yield service


@pytest.fixture(scope="module")
def fronts(service: RunningService) -> Iterator[Fronts]:
    with fronts_of(service.url, service.admin_url, service.mcp_url) as fronts:
        yield fronts


@pytest.fixture
def context(tenant: str) -> dict[str, str]:
    """A context of the test's own; what stands in paths holds no slash."""
    return {"tenant_id": tenant.replace("/", "."), "project_id": "p", "agent_id": "a"}


@pytest.fixture
def client(service: RunningService, context: dict[str, str]) -> Iterator[Client]:
    with Client(service.url, **context) as client:
        yield client


@pytest.fixture
def elf(
    service: RunningService, context: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> CommandLine:
    config = write_config(tmp_path, http_bind=f'"{urlsplit(service.url).netloc}"')
    return CommandLine(config, context["tenant_id"], capsys)


@pytest.fixture(scope="module")
def offers_dsn(postgres_dsn: str, template_dsn: str) -> Iterator[str]:
    """One database for all tests of this module: each works in a tenant of its own."""
    asyncio.run(run_sql(postgres_dsn, f"CREATE DATABASE offers TEMPLATE {TEMPLATE}"))
    yield dsn_of(postgres_dsn, "offers")
    asyncio.run(run_sql(postgres_dsn, "DROP DATABASE offers WITH (FORCE)"))


@pytest.fixture
async def house(offers_dsn: str, tmp_path: Path) -> AsyncIterator[OffersHouse]:
    async with offers_house(offers_dsn, tmp_path) as house:
        yield house
