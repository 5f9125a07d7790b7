"""The config file as frozen models, one class a TOML table.

The keys of the spec's tables are required, but for those that the spec calls optional. Other tables and keys have
defaults, which `elf.config.optional` and its neighbours show. Rules between keys are in `elf.config.rules`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from elf.config import rules
from elf.config.access import Access
from elf.config.auth import Auth
from elf.config.defaults import Defaults
from elf.config.limits import Limits
from elf.config.mcp import Mcp
from elf.config.names import MAX_NAME_CHARS
from elf.config.optional import (
    SPEC_FUSION,
    SPEC_MERGING,
    Audit,
    Budget,
    Fusion,
    Gc,
    Indexing,
    LocalModel,
    LocalRerank,
    Merging,
    Outbox,
    QdrantServer,
    Recall,
    Remember,
    Retention,
)
from elf.config.packaged import CONSOLIDATOR_NAME
from elf.config.places import (
    EDGE,
    EMBEDDED,
    LOCAL,
    Address,
    IndexPlace,
    PostgresPlace,
    check_url,
    parse_address,
)
from elf.config.processes import Processes
from elf.config.table import Table
from elf.config.tracing import Tracing
from elf.config.values import (
    Bind,
    Days,
    DaysOrNever,
    Dimensions,
    Milliseconds,
    NotNegative,
    Positive,
    Text,
    UnitInterval,
    Weight,
)
from elf.config.webhooks import Webhook

T = TypeVar("T", bound=Table)

NoteType = Literal["preference", "constraint", "decision", "profile", "fact", "plan"]
NOTE_TYPES: tuple[NoteType, ...] = ("preference", "constraint", "decision", "profile", "fact", "plan")
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["auto", "json", "text"]

_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"[\x20-\x7e]*")


def _must_be_true(value: bool) -> bool:
    if not value:
        raise ValueError("must be true")
    return value


class Service(Table):
    """[service]: where the fronts listen, how much is logged, and in which form.

    Without `grpc_bind` no gRPC is served. `log_format` is json, text for people, or auto: text when standard error is a
    terminal, else json.
    """

    http_bind: Bind
    mcp_bind: Bind
    admin_bind: Bind
    grpc_bind: Bind | None = None
    log_level: LogLevel
    log_format: LogFormat = "auto"
    limits: Limits | None = None
    access: Access | None = None

    @field_validator("http_bind", "mcp_bind", "admin_bind", "grpc_bind")
    @classmethod
    def _is_host_and_port(cls, value: str | None) -> str | None:
        if value is not None:
            parse_address(value)
        return value

    @property
    def http_address(self) -> Address:
        return parse_address(self.http_bind)

    @property
    def mcp_address(self) -> Address:
        return parse_address(self.mcp_bind)

    @property
    def grpc_address(self) -> Address | None:
        return None if self.grpc_bind is None else parse_address(self.grpc_bind)

    @property
    def admin_address(self) -> Address:
        return parse_address(self.admin_bind)


class Postgres(Table):
    """[storage.postgres]: the source of truth. `read_dsn` names a replica for the reads of searches; empty for none."""

    dsn: Annotated[str, Field(description="embedded:FOLDER or postgresql://USER:PASSWORD@HOST:PORT/DATABASE")]
    pool_max_conns: Annotated[int, Field(ge=2, le=10_000)]
    read_dsn: Annotated[str, Field(description="postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or empty")] = (
        ""
    )

    @field_validator("dsn")
    @classmethod
    def _is_a_known_scheme(cls, value: str) -> str:
        PostgresPlace.parse(value)
        return value

    @field_validator("read_dsn")
    @classmethod
    def _is_a_server(cls, value: str) -> str:
        if value and PostgresPlace.parse(value).kind != "server":
            raise ValueError("must be postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or empty for no replica")
        return value

    @property
    def place(self) -> PostgresPlace:
        return PostgresPlace.parse(self.dsn)

    def anchored(self, folder: Path) -> Self:
        """Return the table with a relative data folder taken as below `folder`."""
        own = self.place.folder
        return self if own is None else self.model_copy(update={"dsn": f"{EMBEDDED}{folder / own}"})


class Qdrant(Table):
    """[storage.qdrant]: the derived index. `server` only matters to a Qdrant server."""

    url: Annotated[str, Field(description="edge:FOLDER, pgvector: or the URL of a Qdrant server")]
    collection: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9_-]{1,128}\z",
            description="a name of 1 to 128 letters, digits, underscores and hyphens",
        ),
    ]
    vector_dim: Dimensions
    server: QdrantServer | None = None

    @field_validator("url")
    @classmethod
    def _is_a_known_scheme(cls, value: str) -> str:
        IndexPlace.parse(value)
        return value

    @property
    def place(self) -> IndexPlace:
        return IndexPlace.parse(self.url)

    def anchored(self, folder: Path) -> Self:
        """Return the table with a relative data folder taken as below `folder`."""
        own = self.place.folder
        return self if own is None else self.model_copy(update={"url": f"{EDGE}{folder / own}"})


class Storage(Table):
    """[storage.*]"""

    postgres: Postgres
    qdrant: Qdrant


ApiBase = Annotated[str, Field(description="local: or a URL that begins with http:// or https://")]
ApiKey = Annotated[
    str,
    Field(pattern=r"^[\x20-\x7e]*[\x21-\x7e][\x20-\x7e]*\z", description="printable ASCII and not empty"),
]
UrlPath = Annotated[str, Field(pattern=r"^/[\x21-\x7e]*\z", description="a path that begins with /")]
Headers = Annotated[
    dict[str, str], Field(description='a table of headers, such as {} or { "X-Team" = "memory" }')
]
Temperature = Annotated[float, Field(ge=0.0, le=2.0)]


class Provider(Table):
    """What every provider table holds. `api_base` is a URL, or `local:` for a model that runs in this process."""

    provider_id: Text
    api_base: ApiBase
    api_key: ApiKey
    path: UrlPath
    model: Text
    timeout_ms: Milliseconds
    default_headers: Headers

    @field_validator("api_base")
    @classmethod
    def _is_local_or_a_url(cls, value: str) -> str:
        if value == LOCAL:
            return value
        try:
            return check_url(value)
        except ValueError as error:
            raise ValueError(f"must be {LOCAL} or a URL; a URL {error}") from None

    @field_validator("default_headers")
    @classmethod
    def _can_be_sent(cls, value: dict[str, str]) -> dict[str, str]:
        for name, text in value.items():
            if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(text):
                raise ValueError(
                    f"the header {name!r} cannot be sent: names are tokens, values printable ASCII"
                )
        return value

    @property
    def is_local(self) -> bool:
        return self.api_base == LOCAL


class EmbeddingProvider(Provider):
    """[providers.embedding]"""

    dimensions: Dimensions

    @field_validator("dimensions", mode="before")
    @classmethod
    def _may_be_quoted(cls, value: object) -> object:
        # The spec's template shows this one number in quotes.
        return int(value) if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value) else value


class RerankProvider(Provider):
    """[providers.rerank]"""


class ChatProvider(Provider):
    """What the tables of chat services hold."""

    temperature: Temperature


class ExtractorProvider(ChatProvider):
    """[providers.llm_extractor]: `local:` is the rule-based extractor, which is no language model."""


class ConsolidatorProvider(ChatProvider):
    """[providers.llm_consolidator]: `local:` is the rule-based consolidator, which is no language model.

    The table and each of its keys may be left out.
    """

    provider_id: Text = "local"
    api_base: ApiBase = LOCAL
    api_key: ApiKey = "local"
    path: UrlPath = "/v1/chat/completions"
    model: Text = CONSOLIDATOR_NAME
    timeout_ms: Milliseconds = 60_000
    temperature: Temperature = 0.1
    default_headers: Headers = Field(default_factory=dict)


class Providers(Table):
    """[providers.*]; without the table of a consolidator no episode becomes facts and rules."""

    embedding: EmbeddingProvider
    rerank: RerankProvider
    llm_extractor: ExtractorProvider
    llm_consolidator: ConsolidatorProvider | None = None


class Scopes(Table):
    """[scopes]: which scopes exist, who reads what, which may be written, and which wins a tie."""

    allowed: Annotated[list[Text], Field(min_length=1, description="a list of one or more scope names")]
    read_profiles: Annotated[
        dict[str, Annotated[list[Text], Field(description="a list of scope names")]],
        Field(min_length=1, description="a table of one or more profiles, each a list of scope names"),
    ]
    precedence: Annotated[
        dict[str, Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]],
        Field(description="a table with a whole number for each scope"),
    ]
    write_allowed: Annotated[dict[str, bool], Field(description="a table with true or false for each scope")]


class Memory(Table):
    """[memory]: limits of a note and of a request, similarity thresholds, retrieval sizes."""

    max_notes_per_add_event: Annotated[int, Field(ge=1, le=256)]
    max_note_chars: Annotated[int, Field(ge=1, le=100_000)]
    dup_sim_threshold: UnitInterval
    update_sim_threshold: UnitInterval
    candidate_k: Annotated[int, Field(ge=1, le=1000)]
    top_k: Annotated[int, Field(ge=1, le=100)]
    merging: Merging = SPEC_MERGING


class Chunking(Table):
    """[chunking]"""

    enabled: bool
    max_tokens: Annotated[int, Field(ge=1, le=100_000)]
    overlap_tokens: Annotated[int, Field(ge=0, le=100_000)]
    tokenizer_repo: str = ""

    @field_validator("enabled")
    @classmethod
    def _is_enabled(cls, value: bool) -> bool:
        return _must_be_true(value)


class Expansion(Table):
    """[search.expansion]"""

    mode: Literal["off", "always", "dynamic"]
    max_queries: Annotated[int, Field(ge=1, le=100)]
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
    expansion_ttl_days: Days
    rerank_ttl_days: Days
    max_payload_bytes: Positive | None = None
    expansion_version: Text
    rerank_version: Text


class Explain(Table):
    """[search.explain]"""

    retention_days: Days


class Search(Table):
    """[search.*]"""

    expansion: Expansion
    dynamic: Dynamic
    prefilter: Prefilter
    cache: SearchCache
    explain: Explain
    fusion: Fusion = SPEC_FUSION
    rerank: LocalRerank | None = None
    budget: Budget | None = None


class Ranking(Table):
    """[ranking]: the tie-breaker of recency and importance."""

    recency_tau_days: Annotated[float, Field(gt=0.0, le=1e6)]
    tie_breaker_weight: Weight


class TtlDays(Table):
    """[lifecycle.ttl_days]: days a note of a type lives; 0 is for ever."""

    plan: DaysOrNever
    fact: DaysOrNever
    preference: DaysOrNever
    constraint: DaysOrNever
    decision: DaysOrNever
    profile: DaysOrNever


class Lifecycle(Table):
    """[lifecycle]"""

    ttl_days: TtlDays
    retention: Retention | None = None
    purge_deleted_after_days: DaysOrNever
    purge_deprecated_after_days: DaysOrNever


class Security(Table):
    """[security]"""

    bind_localhost_only: bool
    reject_cjk: bool
    redact_secrets_on_write: bool
    evidence_min_quotes: Positive
    evidence_max_quotes: Positive
    evidence_max_quote_chars: Positive
    auth: Auth = Auth()

    @field_validator("reject_cjk")
    @classmethod
    def _is_english_only(cls, value: bool) -> bool:
        return _must_be_true(value)


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
    indexing: Indexing = Indexing()
    outbox: Outbox = Outbox()
    gc: Gc = Gc()
    audit: Audit = Audit()
    recall: Recall = Recall()
    remember: Remember = Remember()
    local_model: LocalModel = LocalModel()
    defaults: Defaults = Defaults()
    mcp: Mcp = Mcp()
    tracing: Tracing | None = None
    processes: Processes | None = None
    webhooks: list[Webhook] = Field(default_factory=list)

    @field_validator("webhooks")
    @classmethod
    def _webhooks_are_told_apart(cls, value: list[Webhook]) -> list[Webhook]:
        names = [webhook.name for webhook in value]
        if doubled := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two webhooks are called {doubled}")
        return value

    @model_validator(mode="after")
    def _keeps_the_rules(self) -> Self:
        # The loader runs the same rules over the sound parts of a faulty file; here they make objects total.
        if breaches := rules.breaches(self.model_dump()):
            raise ValueError(
                "; ".join(f"{'.'.join(map(str, breach.path))} {breach.problem}" for breach in breaches)
            )
        return self

    def of(self, table: type[T]) -> T:
        """Return the table of a family that is on. Raises LookupError when the file has none."""
        for name in type(self).model_fields:
            if isinstance(found := getattr(self, name), table):
                return found
        raise LookupError(f"the config has no table of {table.__name__}")

    @property
    def default_scope(self) -> str:
        """Where a note is written when nobody says: by [defaults], else the first of scopes.allowed."""
        return self.defaults.scope or self.scopes.allowed[0]

    @property
    def default_profile(self) -> str:
        """What is read when nobody says: by [defaults], else the profile of the most scopes, the first of several."""
        profiles = self.scopes.read_profiles
        return self.defaults.read_profile or max(profiles, key=lambda name: len(profiles[name]))

    def default_project(self, *, key: str | None, token: str | None, for_user: str | None) -> str | None:
        """Return the project that is meant by who sends these, and names none: the user's own, else that of [defaults].

        A project of [defaults] for all would make one memory of those of all users. None where only the service knows
        the user: by a token that it checks, or by a key that another config lists.
        """
        auth = self.security.auth
        if for_user is not None:
            return for_user
        if token is not None:
            is_name = auth.takes_names(has_key=key is not None) and len(token) <= MAX_NAME_CHARS
            return token if is_name else None
        if key is None:
            return self.defaults.ids()["project_id"]
        if (listed := auth.listed(key)) is None:
            return None
        return listed.user or self.defaults.ids()["project_id"]

    @property
    def compares_tokens(self) -> bool:
        """Whether the reranker is a local model and compares the tokens of chunks, which are kept for it."""
        return self.search.rerank is not None and self.providers.rerank.is_local

    @property
    def embedding_version(self) -> str:
        embedding = self.providers.embedding
        return f"{embedding.provider_id}:{embedding.model}:{embedding.dimensions}"
