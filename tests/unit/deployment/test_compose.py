"""compose.yml against the project and against the config that it mounts."""

from __future__ import annotations

import ast
from itertools import chain
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from deployed import INSTALLED_CONFIG, OPS, PROJECT, REPO, SCRIPTS, assert_runs_elf

from elf.config import Config, load

ELF = ("api", "worker", "mcp")
OTHERS = ("postgres", "qdrant")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((OPS / "compose.yml").read_text(encoding="utf-8"))
    return document


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, Any]:
    services: dict[str, Any] = compose["services"]
    return services


@pytest.fixture(scope="module")
def config() -> Config:
    return load(OPS / "elf.scaled.toml")


def test_it_runs_two_api_containers_a_worker_the_mcp_front_and_what_they_need(
    services: dict[str, Any],
) -> None:
    assert services.keys() == {*ELF, *OTHERS}
    assert services["api"]["deploy"] == {"replicas": 2}


@pytest.mark.parametrize("name", ELF)
def test_each_container_of_elf_runs_its_own_command(services: dict[str, Any], name: str) -> None:
    command = services[name]["command"]
    assert command[0] == f"elf-{name}"
    assert command[0] in SCRIPTS
    assert_runs_elf(command)


@pytest.mark.parametrize("name", ELF)
def test_the_containers_of_elf_are_one_image_of_this_version_on_one_config(
    services: dict[str, Any], name: str
) -> None:
    service = services[name]
    assert service["image"] == f"elf-memory:{PROJECT['project']['version']}"
    assert (OPS / service["build"]["context"]).resolve() == REPO
    assert (REPO / service["build"]["dockerfile"]).is_file()
    assert service["volumes"] == [f"./elf.toml:{INSTALLED_CONFIG}:ro"]


@pytest.mark.parametrize("name", ELF)
def test_the_containers_of_elf_can_do_no_more_than_they_need(services: dict[str, Any], name: str) -> None:
    service = services[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "user" not in service
    assert "privileged" not in service


@pytest.mark.parametrize("name", ELF)
def test_they_wait_for_a_healthy_postgres(services: dict[str, Any], name: str) -> None:
    wanted = {other: service["condition"] for other, service in services[name]["depends_on"].items()}
    assert wanted == {"postgres": "service_healthy", "qdrant": "service_started"}
    assert "healthcheck" in services["postgres"]


def test_what_is_published_is_for_this_machine_alone_and_where_the_config_listens(
    services: dict[str, Any], config: Config
) -> None:
    published = {
        name: [port.rsplit(":", 2) for port in service["ports"]]
        for name, service in services.items()
        if "ports" in service
    }
    assert published.keys() == {"api", "mcp"}
    service = config.service
    assert service.grpc_address is not None
    listening = {"api": [service.http_address, service.grpc_address], "mcp": [service.mcp_address]}
    for name, addresses in listening.items():
        there = [("127.0.0.1", str(address.port)) for address in addresses]
        assert [(host, port) for host, _, port in published[name]] == there


def test_each_replica_of_the_api_has_a_port_and_none_is_given_twice(services: dict[str, Any]) -> None:
    def ports(published: str) -> list[int]:
        first, _, last = published.split(":")[1].partition("-")
        return list(range(int(first), int(last or first) + 1))

    of_api = [ports(one) for one in services["api"]["ports"]]
    assert {len(several) for several in of_api} == {services["api"]["deploy"]["replicas"]}
    given = [*chain(*of_api), *chain(*map(ports, services["mcp"]["ports"]))]
    assert len(given) == len(set(given))


def test_the_api_is_found_by_the_name_in_the_config_and_listens_at_every_address(
    services: dict[str, Any], config: Config
) -> None:
    name = config.service.http_address.host
    assert services["api"]["networks"]["default"]["aliases"] == [name]
    assert services["api"]["extra_hosts"] == [f"{name}:0.0.0.0"]
    assert "extra_hosts" not in services["mcp"]


def test_the_config_names_the_servers_and_the_password_that_are_started(
    services: dict[str, Any], config: Config
) -> None:
    dsn = urlsplit(config.storage.postgres.dsn)
    environment = services["postgres"]["environment"]
    assert dsn.hostname in services
    assert (dsn.username, dsn.password, dsn.path.strip("/")) == (
        environment["POSTGRES_USER"], environment["POSTGRES_PASSWORD"], environment["POSTGRES_DB"],
    )  # fmt: skip
    assert urlsplit(config.storage.qdrant.url).hostname in services


def test_the_images_of_others_are_pinned_to_a_version(services: dict[str, Any]) -> None:
    for name in OTHERS:
        _, _, tag = services[name]["image"].partition(":")
        assert any(character.isdigit() for character in tag), name


def test_what_must_outlive_a_container_is_in_volumes_that_are_declared(
    compose: dict[str, Any], services: dict[str, Any]
) -> None:
    used = {volume.partition(":")[0] for name in OTHERS for volume in services[name]["volumes"]}
    assert used == set(compose["volumes"]) == set(OTHERS)


def test_health_is_asked_where_something_answers(services: dict[str, Any], config: Config) -> None:
    assert "healthcheck" not in services["api"], "the image's own asks the API"
    assert services["worker"]["healthcheck"] == {"disable": True}
    *_, code = services["mcp"]["healthcheck"]["test"]
    ast.parse(code)
    assert f"http://127.0.0.1:{config.service.mcp_address.port}/health" in code
