"""`uvx --from '.[service]' elf up`: the service, run by uv without an installation."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

import pytest

from elf.providers.local.pip_config import PipConfig
from tests.folders import fresh_folder
from tests.install.pythons import Environment, Python
from tests.readme import blocks, section
from tests.system.service import RunningService, write_config

pytestmark = pytest.mark.timeout(600)


class UvService(RunningService):
    start_timeout_s = 400.0  # uv downloads and lays out every package


def uv_variables(config: PipConfig) -> Mapping[str, str]:
    """Return the variables by which uv, which does not read pip's configuration, uses the same sources."""
    variables = {
        "UV_DEFAULT_INDEX": config.index_url or "",
        "UV_INDEX": " ".join(config.extra_index_urls),
        "UV_FIND_LINKS": ",".join(config.find_links),
        "UV_INDEX_STRATEGY": "unsafe-best-match" if config.extra_index_urls else "",  # as pip takes them
    }
    return {name: value for name, value in variables.items() if value}


def test_the_service_is_ready_with_an_empty_home(
    this_python: Python, network: dict[str, str], checkout: Path, home: Path
) -> None:
    serve = blocks(section("Two lines"))[-1].text.strip()
    assert serve.startswith("uvx ")
    with fresh_folder() as folder:
        variables = {
            **uv_variables(PipConfig.load(network)),
            **network,
            "HOME": str(home),
            "UV_CACHE_DIR": str(folder / "cache"),
            "UV_PYTHON": str(this_python.path),
            "UV_PYTHON_DOWNLOADS": "never",
        }
        environment = Environment(this_python, folder / "venv", variables)
        environment.type("pip install -q uv", folder=folder).succeeded()
        config = write_config(folder)  # on free ports, where the README has those of the default config
        command = [
            "bash",
            "-ec",
            f"cd {shlex.quote(str(checkout))} && exec {serve} -c {shlex.quote(str(config))}",
        ]
        with UvService(config, command=command, environment=environment.variables) as service:
            assert service.client.get("/ready").status_code == 200
        assert [path.name for path in (home / ".cache").iterdir()] == ["elf"]
