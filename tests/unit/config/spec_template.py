"""The template of the requirements, filled in: exactly its keys, in its order, as a deployment writes them."""

import tomllib
from collections.abc import Callable, Mapping
from typing import Any

KeyPath = tuple[str, ...]
FaultsOf = Callable[..., dict[str, str]]
"""Replaces texts of the template and returns the faults found, key to problem."""

SPEC_TEMPLATE = """\
[service]
http_bind = "127.0.0.1:8080"
mcp_bind = "127.0.0.1:8081"
admin_bind = "127.0.0.1:8082"
log_level = "info"

[storage.postgres]
dsn = "postgresql://elf:hunter2@db.internal:5432/elf"
pool_max_conns = 10

[storage.qdrant]
url = "http://qdrant.internal:6333"
collection = "mem_notes_v1"
vector_dim = 1536

[providers.embedding]
provider_id = "acme"
api_base = "https://api.acme.example"
api_key = "key-of-embedding"
path = "/v1/embeddings"
model = "embed-large"
dimensions = "1536"
timeout_ms = 20000
# Must exist. Empty map is allowed.
default_headers = {}

[providers.rerank]
provider_id = "acme"
api_base = "https://api.acme.example"
api_key = "key-of-rerank"
path = "/v1/rerank"
model = "rerank-1"
timeout_ms = 20000
# Must exist. Empty map is allowed.
default_headers = {}

[providers.llm_extractor]
provider_id = "acme"
api_base = "https://api.acme.example"
api_key = "key-of-extractor"
path = "/v1/chat/completions"
model = "chat-1"
temperature = 0.1
timeout_ms = 60000
# Must exist. Empty map is allowed.
default_headers = {}

[scopes]
allowed = ["agent_private", "project_shared", "org_shared"]

[scopes.read_profiles]
private_only = ["agent_private"]
private_plus_project = ["agent_private", "project_shared"]
all_scopes = ["agent_private", "project_shared", "org_shared"]

[scopes.precedence]
agent_private = 30
project_shared = 20
org_shared = 10

[scopes.write_allowed]
agent_private = true
project_shared = true
org_shared = true

[memory]
max_notes_per_add_event = 3
max_note_chars = 240
# Similarity thresholds
dup_sim_threshold = 0.92
update_sim_threshold = 0.85
# Retrieval sizes
candidate_k = 60
top_k = 12

[chunking]
enabled = true
max_tokens = 512
overlap_tokens = 128
# Optional. Empty or omitted uses providers.embedding.model.
tokenizer_repo = "acme/tokenizer"

[search.expansion]
mode = "dynamic"
max_queries = 4
include_original = true

[search.dynamic]
min_candidates = 10
min_top_score = 0.12

[search.prefilter]
max_candidates = 0

[search.cache]
enabled = true
expansion_ttl_days = 7
rerank_ttl_days = 7
# Optional. Omit to disable payload size limits.
max_payload_bytes = 262144
expansion_version = "v1"
rerank_version = "v1"

[search.explain]
retention_days = 7

[ranking]
recency_tau_days = 60
tie_breaker_weight = 0.1

[lifecycle.ttl_days]
plan = 14
fact = 180
preference = 0
constraint = 0
decision = 0
profile = 0

[lifecycle]
purge_deleted_after_days = 30
purge_deprecated_after_days = 180

[security]
bind_localhost_only = true
reject_cjk = true
redact_secrets_on_write = true
# Evidence rules for add_event
evidence_min_quotes = 1
evidence_max_quotes = 2
evidence_max_quote_chars = 320
"""


def leaves(tables: Mapping[str, Any], above: KeyPath = ()) -> list[KeyPath]:
    """List the paths of the keys of tables; one whose value is an empty table counts as a key, too."""
    paths = []
    for key, value in tables.items():
        if isinstance(value, dict) and value:
            paths += leaves(value, (*above, key))
        else:
            paths.append((*above, key))
    return paths


TEMPLATE_KEYS = leaves(tomllib.loads(SPEC_TEMPLATE))
OPTIONAL_IN_SPEC = {("chunking", "tokenizer_repo"), ("search", "cache", "max_payload_bytes")}
REQUIRED_KEYS = [
    path for path in TEMPLATE_KEYS if path not in OPTIONAL_IN_SPEC and path[:2] != ("scopes", "read_profiles")
]  # the names of the profiles are the user's


def without(text: str, path: KeyPath) -> str:
    """Return the text of a config file without the line of one key."""
    table = f"[{'.'.join(path[:-1])}]\n"
    before, found, after = text.partition(f"\n{table}")
    if not found:
        assert text.startswith(table), path
        before, found, after = "", table, text.removeprefix(table)
    lines = after.splitlines(keepends=True)
    lines.remove(next(line for line in lines if line.startswith(f"{path[-1]} = ")))
    return before + found + "".join(lines)
