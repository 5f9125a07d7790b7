"""The built graph of a model on disk, so that a start does not build it again.

A graph is named `MODEL-KEY-CONTENT.onnx`: KEY is made of the SHA-256 of the weights and the builder's version, CONTENT
is the digest of the file itself. It is published by one rename, and a file whose content is not what its name says is
thrown away and built again. The process that builds holds the lock of the model; others wait for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy.typing as npt
import structlog
from blake3 import blake3

from elf.providers.local.catalog import ModelSpec
from elf.providers.local.model_cache import fetch_model, locked, unusable

BUILDER_VERSION: Final = 1  # raise it with every change of onnx_model.py
_DIGEST_CHARS: Final = 32

_log = structlog.get_logger()


def cached_graph(model: ModelSpec, cache: Path) -> Path:
    """Return the path of a proven graph of a model; without one it is built, from weights that are fetched if need be.

    Raises StartupError when the weights cannot be fetched or the cache cannot be written.
    """
    if (found := _find(model, cache)) is not None:
        return found
    folder = fetch_model(model, cache, proven=(model.weights,))
    with locked(model, cache):
        return _find(model, cache) or _build(model, folder / model.weights.name, cache)


def _find(model: ModelSpec, cache: Path) -> Path | None:
    prefix = _prefix(model)
    return next((path for path in sorted(cache.glob(f"{prefix}*.onnx")) if _is_whole(path, prefix)), None)


def _prefix(model: ModelSpec) -> str:
    shape = model.architecture
    parts = f"{model.weights.sha256} {BUILDER_VERSION} {shape.max_tokens} {shape.width}"
    return f"{model.name}-{blake3(parts.encode()).hexdigest()[:_DIGEST_CHARS]}-"


def _is_whole(path: Path, prefix: str) -> bool:
    try:
        with path.open("rb") as file:
            hasher = blake3()
            while block := file.read(1 << 20):
                hasher.update(block)
        if hasher.hexdigest()[:_DIGEST_CHARS] == path.stem.removeprefix(prefix):
            return True
        _log.warning("local_model.cache_damaged", file=str(path))
        path.unlink(missing_ok=True)
    except FileNotFoundError:
        return False  # another process has just thrown it away
    except OSError as error:
        raise unusable(path.parent, error) from error
    return False


def _build(model: ModelSpec, weights: Path, cache: Path) -> Path:
    _log.info("model_being_built", folder=str(cache))
    # Both imports are heavy and only needed on the first start.
    from safetensors.numpy import load_file

    from elf.providers.local.onnx_model import build_graph

    loaded: Mapping[str, npt.NDArray[Any]] = load_file(weights)
    content = build_graph(loaded, model.architecture)
    path = cache / f"{_prefix(model)}{blake3(content).hexdigest()[:_DIGEST_CHARS]}.onnx"
    _publish(content, path)
    _log.info("local_model.graph_built", file=str(path), bytes=len(content))
    return path


def _publish(content: bytes, path: Path) -> None:
    """Write a graph under the model's lock. What a process that was killed has left is written over."""
    part = path.with_name(f"{path.name}.part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise unusable(path.parent, error) from error
