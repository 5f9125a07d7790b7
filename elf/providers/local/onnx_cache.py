"""The built graph on disk, so that a start does not build it again.

A cache file is named `minilm-KEY-CONTENT.onnx`: KEY is made of the weights' digest and the builder's
version, CONTENT is the digest of the file itself. One rename publishes it, so any number of processes may
start at once, and a file whose content is not what its name says is thrown away and built again.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import structlog
from blake3 import blake3

from elf.config.packaged import DIMENSIONS
from elf.core.errors import StartupError
from elf.providers.local.model import MAX_TOKENS, WEIGHTS, checked, digest_of

BUILDER_VERSION = 1  # raise it with every change of graph.py
_DIGEST_CHARS = 32
_ABANDONED_AFTER_S = 3600

_log = structlog.get_logger()


def cached_graph(model_folder: Path, cache_folder: Path) -> Path:
    """Return the path of a proven graph, built when there is none.

    Raises StartupError naming the file when the weights are damaged or the cache cannot be written.
    """
    prefix = f"minilm-{_key()}-"
    try:
        cache_folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(cache_folder.glob(f"{prefix}*.onnx")):
            if _is_whole(path, prefix):
                return path
        return _build(model_folder, cache_folder, prefix)
    except OSError as error:
        raise StartupError(f"the model cache {cache_folder} cannot be used: {error}") from error


def _key() -> str:
    parts = f"{WEIGHTS.digest} {BUILDER_VERSION} {MAX_TOKENS} {DIMENSIONS}"
    return blake3(parts.encode()).hexdigest()[:_DIGEST_CHARS]


def _is_whole(path: Path, prefix: str) -> bool:
    try:
        if digest_of(path)[:_DIGEST_CHARS] == path.stem.removeprefix(prefix):
            return True
    except FileNotFoundError:
        return False  # another process has just thrown it away
    _log.warning("local_model.cache_damaged", file=str(path))
    path.unlink(missing_ok=True)
    return False


def _build(model_folder: Path, cache_folder: Path, prefix: str) -> Path:
    _log.info("model_being_built", folder=str(cache_folder))
    # Both imports are heavy and only needed on the first start.
    from safetensors.numpy import load_file

    from elf.providers.local.onnx_model import build_graph

    content = build_graph(load_file(checked(model_folder, WEIGHTS)))
    path = cache_folder / f"{prefix}{blake3(content).hexdigest()[:_DIGEST_CHARS]}.onnx"
    _publish(content, path)
    _drop_abandoned(cache_folder)
    _log.info("local_model.graph_built", file=str(path), bytes=len(content))
    return path


def _publish(content: bytes, path: Path) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _drop_abandoned(cache_folder: Path) -> None:
    """Remove what a builder that was killed left behind; a live one is done in seconds."""
    oldest = time.time() - _ABANDONED_AFTER_S
    for part in cache_folder.glob("minilm-*.part"):
        if part.stat().st_mtime < oldest:
            part.unlink(missing_ok=True)
