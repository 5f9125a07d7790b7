"""A local model, loaded once, behind every port that it serves."""

from __future__ import annotations

from dataclasses import dataclass

from elf.config.model import EmbeddingProvider, RerankProvider
from elf.config.optional import LocalModel
from elf.core.measures import Measures
from elf.providers.calls import Calls
from elf.providers.local.catalog import MINILM, ModelSpec
from elf.providers.local.embedder import LocalEmbedder
from elf.providers.local.encoder import Encoder
from elf.providers.local.late import LocalLateInteraction
from elf.providers.local.reranker import LocalReranker


@dataclass(frozen=True, slots=True)
class LocalPorts:
    """Makes the ports over one Encoder."""

    encoder: Encoder

    @classmethod
    def open(cls, config: LocalModel, *, model: ModelSpec = MINILM, words_per_text: int) -> LocalPorts:
        """Load the model; see Encoder.open."""
        return cls(Encoder.open(config, model=model, words_per_text=words_per_text))

    @property
    def late(self) -> LocalLateInteraction:
        return LocalLateInteraction(self.encoder)

    def embedder(self, table: EmbeddingProvider, measures: Measures | None) -> LocalEmbedder:
        return LocalEmbedder(table, self.encoder, Calls("providers.embedding", table.provider_id, measures))

    def reranker(self, table: RerankProvider, measures: Measures | None) -> LocalReranker:
        return LocalReranker(table, self.encoder, Calls("providers.rerank", table.provider_id, measures))
