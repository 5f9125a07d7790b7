"""The config file as frozen models, one class a TOML table.

Every key of a table is required unless its annotation says `| None` with a default; there are no defaults in code
for the keys of the spec's template. The tables under "optional" may be left out as a whole and are complete when
present; each class says what its absence means.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from elf.config.places import Address, IndexPlace, PostgresPlace, is_loopback, parse_address

NoteType = Literal["preference", "constraint", "decision", "profile", "fact", "plan"]
NOTE_TYPES: tuple[NoteType, ...] = ("preference", "constraint", "decision", "profile", "fact", "plan")
LogLevel = Literal["debug", "info", "warning", "error"]

NonEmpty = Annotated[str, Field(min_length=1, pattern=r"\S")]
Positive = Annotated[int, Field(ge=1)]
NotNegative = Annotated[int, Field(ge=0)]
UnitInterval = Annotated[float, Field(ge=0.0, le=1.0)]


class Table(BaseModel):
    """A TOML table: frozen, strict about types, and unknown keys are faults."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Service(Table):
    """[service]: where the fronts listen and how much is logged."""

    http_bind: str
    mcp_bind: str
    admin_bind: str
    log_level: LogLevel

    @field_validator("http_bind", "mcp_bind", "admin_bind")
    @classmethod
    def _is_host_and_port(cls, value: str) -> str:
        parse_address(value)
        return value

    @property
    def http_address(self) -> Address:
        return parse_address(self.http_bind)


class Postgres(Table):
    """[storage.postgres]: the source of truth."""

    dsn: str
    pool_max_conns: Annotated[int, Field(ge=2)]

    @field_validator("dsn")
    @classmethod
    def _is_a_known_scheme(cls, value: str) -> str:
        PostgresPlace.parse(value)
        return value

    @property
    def place(self) -> PostgresPlace:
        return PostgresPlace.parse(self.dsn)


class Qdrant(Table):
    """[storage.qdrant]: the derived index."""

    url: str
    collection: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
    vector_dim: Annotated[int, Field(ge=1, le=16_000)]

    @field_validator("url")
    @classmethod
    def _is_a_known_scheme(cls, value: str) -> str:
        IndexPlace.parse(value)
        return value

    @property
    def place(self) -> IndexPlace:
        return IndexPlace.parse(self.url)


class Storage(Table):
    """[storage.*]"""

    postgres: Postgres
    qdrant: Qdrant


class Provider(Table):
    """What every provider table holds. `api_base` is a URL, or `local:` for the packaged model in this process."""

    provider_id: NonEmpty
    api_base: str
    api_key: NonEmpty = Field(repr=False)
    path: Annotated[str, Field(pattern=r"^/")]
    model: NonEmpty
    timeout_ms: Positive
    default_headers: dict[str, str]

    @field_validator("api_base")
    @classmethod
    def _is_local_or_a_url(cls, value: str) -> str:
        if value == "local:" or value.startswith(("http://", "https://")):
            return value
        raise ValueError("must be local: or begin with http:// or https://")

    @property
    def is_local(self) -> bool:
        return self.api_base == "local:"


class EmbeddingProvider(Provider):
    """[providers.embedding]"""

    dimensions: Annotated[int, Field(ge=1, le=16_000)]

    @field_validator("dimensions", mode="before")
    @classmethod
    def _may_be_quoted(cls, value: object) -> object:
        # The spec's template shows this one number in quotes.
        return int(value) if isinstance(value, str) and value.isdecimal() else value


class RerankProvider(Provider):
    """[providers.rerank]"""


class ExtractorProvider(Provider):
    """[providers.llm_extractor]"""

    temperature: Annotated[float, Field(ge=0.0, le=2.0)]


class Providers(Table):
    """[providers.*]"""

    embedding: EmbeddingProvider
    rerank: RerankProvider
    llm_extractor: ExtractorProvider


class Scopes(Table):
    """[scopes]: which scopes exist, who reads what, which may be written, and which wins a tie."""

    allowed: Annotated[list[NonEmpty], Field(min_length=1)]
    read_profiles: Annotated[dict[str, list[str]], Field(min_length=1)]
    precedence: dict[str, int]
    write_allowed: dict[str, bool]

    @model_validator(mode="after")
    def _names_only_allowed_scopes(self) -> Self:
        allowed = set(self.allowed)
        if len(allowed) != len(self.allowed):
            raise ValueError("allowed names a scope twice")
        for profile, scopes in self.read_profiles.items():
            if unknown := [scope for scope in scopes if scope not in allowed]:
                raise ValueError(f"read_profiles.{profile} names scopes that are not in allowed: {', '.join(unknown)}")
        for table, keys in (("precedence", set(self.precedence)), ("write_allowed", set(self.write_allowed))):
            if keys != allowed:
                raise ValueError(f"{table} must have exactly the scopes of allowed: {', '.join(self.allowed)}")
        return self


class Memory(Table):
    """[memory]: limits of a note and of a request, similarity thresholds, retrieval sizes."""

    max_notes_per_add_event: Positive
    max_note_chars: Annotated[int, Field(ge=1, le=100_000)]
    dup_sim_threshold: UnitInterval
    update_sim_threshold: UnitInterval
    candidate_k: Annotated[int, Field(ge=1, le=1000)]
    top_k: Annotated[int, Field(ge=1, le=100)]

    @model_validator(mode="after")
    def _is_ordered(self) -> Self:
        if self.update_sim_threshold > self.dup_sim_threshold:
            raise ValueError("update_sim_threshold must not be greater than dup_sim_threshold")
        if self.top_k > self.candidate_k:
            raise ValueError("top_k must not be greater than candidate_k")
        return self


class Chunking(Table):
    """[chunking]"""

    enabled: bool
    max_tokens: Positive
    overlap_tokens: NotNegative
    tokenizer_repo: str = ""

    @model_validator(mode="after")
    def _is_enabled_and_bounded(self) -> Self:
        if not self.enabled:
            raise ValueError("enabled must be true")
        if self.overlap_tokens >= self.max_tokens:
            raise ValueError("overlap_tokens must be less than max_tokens")
        return self


class Expansion(Table):
    """[search.expansion]"""

    mode: Literal["off", "always", "dynamic"]
    max_queries: Positive
    include_original: bool


class Dynamic(Table):
    """[search.dynamic]"""

    min_candidates: NotNegative
    min_top_score: UnitInterval


class Prefilter(Table):
    """[search.prefilter]: 0 or at least candidate_k means no prefilter."""

    max_candidates: NotNegative


class SearchCache(Table):
    """[search.cache]"""

    enabled: bool
    expansion_ttl_days: Positive
    rerank_ttl_days: Positive
    max_payload_bytes: Positive | None = None
    expansion_version: NonEmpty
    rerank_version: NonEmpty


class Explain(Table):
    """[search.explain]"""

    retention_days: Positive


class Fusion(Table):
    """[search.fusion], optional: how the two legs become one score of 0 to 1.

    Without the table: reciprocal rank fusion with k = 60 and equal weights, and the rerank score alone ranks.
    `rerank_weight` and `retrieval_weight` weigh the reranker's score and the fused score in the final score.
    """

    method: Literal["rrf", "minmax"]
    k: Positive
    dense_weight: Annotated[float, Field(ge=0.0)]
    bm25_weight: Annotated[float, Field(ge=0.0)]
    rerank_weight: Annotated[float, Field(ge=0.0)]
    retrieval_weight: Annotated[float, Field(ge=0.0)]

    @model_validator(mode="after")
    def _weighs_something(self) -> Self:
        if self.dense_weight + self.bm25_weight <= 0:
            raise ValueError("dense_weight and bm25_weight must not both be 0")
        if self.rerank_weight + self.retrieval_weight <= 0:
            raise ValueError("rerank_weight and retrieval_weight must not both be 0")
        return self


SPEC_FUSION = Fusion(method="rrf", k=60, dense_weight=1.0, bm25_weight=1.0, rerank_weight=1.0, retrieval_weight=0.0)


class Search(Table):
    """[search.*]"""

    expansion: Expansion
    dynamic: Dynamic
    prefilter: Prefilter
    cache: SearchCache
    explain: Explain
    fusion: Fusion = SPEC_FUSION


class Ranking(Table):
    """[ranking]: the tie-breaker of recency and importance."""

    recency_tau_days: Annotated[float, Field(gt=0.0)]
    tie_breaker_weight: Annotated[float, Field(ge=0.0)]


class TtlDays(Table):
    """[lifecycle.ttl_days]: days a note of a type lives; 0 is for ever."""

    plan: NotNegative
    fact: NotNegative
    preference: NotNegative
    constraint: NotNegative
    decision: NotNegative
    profile: NotNegative


class Lifecycle(Table):
    """[lifecycle]"""

    ttl_days: TtlDays
    purge_deleted_after_days: NotNegative
    purge_deprecated_after_days: NotNegative


class Security(Table):
    """[security]"""

    bind_localhost_only: bool
    reject_cjk: bool
    redact_secrets_on_write: bool
    evidence_min_quotes: Positive
    evidence_max_quotes: Positive
    evidence_max_quote_chars: Positive

    @model_validator(mode="after")
    def _is_safe(self) -> Self:
        if not self.reject_cjk:
            raise ValueError("reject_cjk must be true")
        if self.evidence_min_quotes > self.evidence_max_quotes:
            raise ValueError("evidence_min_quotes must not be greater than evidence_max_quotes")
        return self


class Indexing(Table):
    """[indexing], optional: how the outbox is worked off. Without the table: the values of DEFAULT_INDEXING."""

    indexers: Annotated[int, Field(ge=1, le=64)]
    batch_size: Annotated[int, Field(ge=1, le=1000)]
    lease_seconds: Annotated[int, Field(ge=5, le=3600)]
    poll_interval_ms: Annotated[int, Field(ge=50, le=60_000)]


DEFAULT_INDEXING = Indexing(indexers=2, batch_size=32, lease_seconds=60, poll_interval_ms=1000)


class LocalModel(Table):
    """[local_model], optional: the packaged model. Without the table: the values of DEFAULT_LOCAL_MODEL."""

    cache_dir: NonEmpty
    threads: Annotated[int, Field(ge=1, le=256)]
    token_cache_mb: NotNegative


DEFAULT_LOCAL_MODEL = LocalModel(cache_dir=".elf/model", threads=2, token_cache_mb=512)


class Config(Table):
    """A whole config file. Build it with `elf.config.load`, which reports every fault at once."""

    service: Service
    storage: Storage
    providers: Providers
    scopes: Scopes
    memory: Memory
    chunking: Chunking
    search: Search
    ranking: Ranking
    lifecycle: Lifecycle
    security: Security
    indexing: Indexing = DEFAULT_INDEXING
    local_model: LocalModel = DEFAULT_LOCAL_MODEL

    @model_validator(mode="after")
    def _tables_agree(self) -> Self:
        embedding, qdrant = self.providers.embedding, self.storage.qdrant
        if embedding.dimensions != qdrant.vector_dim:
            raise ValueError(
                f"providers.embedding.dimensions ({embedding.dimensions}) must match"
                f" storage.qdrant.vector_dim ({qdrant.vector_dim})"
            )
        self._check_binds()
        return self

    def _check_binds(self) -> None:
        if not is_loopback(parse_address(self.service.admin_bind)):
            raise ValueError("service.admin_bind must be a loopback address, always")
        if not self.security.bind_localhost_only:
            return
        for key in ("http_bind", "mcp_bind"):
            if not is_loopback(parse_address(getattr(self.service, key))):
                raise ValueError(f"service.{key} must be a loopback address when security.bind_localhost_only is true")

    @property
    def embedding_version(self) -> str:
        embedding = self.providers.embedding
        return f"{embedding.provider_id}:{embedding.model}:{embedding.dimensions}"
