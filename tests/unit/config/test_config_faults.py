"""What is said about a config file that has faults: each key at fault, once, with what is allowed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from any_value import JSON_LIKE, faults_in, toml
from hypothesis import given
from hypothesis import strategies as st
from spec_template import REQUIRED_KEYS, SPEC_TEMPLATE, TEMPLATE_KEYS, FaultsOf, KeyPath, without

from elf.config import loads
from elf.config.example import example_file
from elf.config.faults import dotted
from elf.config.processes import admin_ports
from elf.core.errors import ConfigError, ConfigFault
from elf.providers.local.catalog import MODEL_NAMES


@pytest.mark.parametrize("path", REQUIRED_KEYS, ids=".".join)
def test_every_key_of_the_template_is_required(path: KeyPath) -> None:
    with pytest.raises(ConfigError) as caught:
        loads(without(SPEC_TEMPLATE, path), source="elf.toml")
    assert [fault.key for fault in caught.value.faults] == [".".join(path)]
    assert caught.value.faults[0].problem.startswith("is missing; ")


def test_an_empty_file_names_every_missing_table() -> None:
    with pytest.raises(ConfigError) as caught:
        loads("", source="elf.toml")
    assert [fault.key for fault in caught.value.faults] == [
        "service", "storage", "providers", "scopes", "memory", "chunking", "search", "ranking", "lifecycle", "security",
    ]  # fmt: skip
    assert caught.value.faults[7].problem == (
        "this table is missing; its keys are recency_tau_days, tie_breaker_weight"
    )


def test_all_faults_of_a_file_are_reported_at_once(faults_of: FaultsOf) -> None:
    faults = faults_of(
        ('log_level = "info"', 'log_level = "loud"'),
        ("pool_max_conns = 10", "pool_max_conns = 1"),
        ("vector_dim = 1536", "vector_dim = 768"),
        ("top_k = 12", "top_k = 70"),
        ("overlap_tokens = 128", "overlap_tokens = 512"),
        ("reject_cjk = true", "reject_cjk = false"),
        ("org_shared = 10", "org_shard = 10"),
        ('project_shared"]', 'project_shard"]'),
        ("evidence_min_quotes = 1", "evidence_min_quotes = 3"),
        ("[ranking]", "[rankings]"),
        ('admin_bind = "127.0.0.1:8082"', 'admin_bind = "0.0.0.0:8082"'),
    )
    assert set(faults) == {
        "service.log_level",
        "storage.postgres.pool_max_conns",
        "providers.embedding.dimensions",
        "memory.top_k",
        "chunking.overlap_tokens",
        "security.reject_cjk",
        "scopes.precedence.org_shared",
        "scopes.precedence.org_shard",
        "scopes.read_profiles.private_plus_project[1]",
        "security.evidence_min_quotes",
        "ranking",
        "rankings",
        "service.admin_bind",
    }


def test_a_fault_in_a_table_does_not_hide_the_rules_of_its_other_keys(faults_of: FaultsOf) -> None:
    faults = faults_of(
        (
            '["agent_private", "project_shared", "org_shared"]\n\n[scopes.prec',
            '[5, "og_shared"]\n\n[scopes.prec',
        )
    )
    assert faults["scopes.read_profiles.all_scopes[0]"] == "must be a string that is not empty, not 5"
    assert "must be one of scopes.allowed" in faults["scopes.read_profiles.all_scopes[1]"]


def test_a_faulty_value_is_not_also_held_against_the_rules(faults_of: FaultsOf) -> None:
    assert set(faults_of(("top_k = 12", 'top_k = "70"'))) == {"memory.top_k"}
    assert set(faults_of(("vector_dim = 1536", "vector_dim = 0"))) == {"storage.qdrant.vector_dim"}
    assert set(faults_of(('allowed = ["agent_private", ', 'allowed = ["", '))) == {"scopes.allowed[0]"}
    assert set(faults_of(("org_shared = 10", 'org_shared = "10"'))) == {"scopes.precedence.org_shared"}
    assert set(faults_of(("org_shared = true", "org_shared = 1"))) == {"scopes.write_allowed.org_shared"}
    assert set(faults_of(('allowed = ["agent_private", "project_shared", "org_shared"]', "allowed = 1"))) == {
        "scopes.allowed"
    }


@pytest.mark.parametrize(
    ("old", "new", "key", "problem"),
    [
        ("127.0.0.1:8080", "localhost", "service.http_bind", "must be host:port with a port of 0 to 65535"),
        ("127.0.0.1:8080", "127.0.0.1:70000", "service.http_bind", "must be host:port"),
        ("127.0.0.1:8080", "192.168.1.5:80", "service.http_bind", "must be a loopback address"),
        ("127.0.0.1:8081", "elf.example:80", "service.mcp_bind", "must be a loopback address"),
        ("127.0.0.1:8081", "127.0.0.1:8080", "service.mcp_bind", "must differ from service.http_bind"),
        ("postgresql://elf:hunter2@db.internal:5432/elf", "mysql://x", "storage.postgres.dsn", "must be embedded:"),
        ("postgresql://elf:hunter2@db.internal:5432/elf", "embedded:", "storage.postgres.dsn", "must name a folder"),
        ("postgresql://elf:hunter2@db.internal:5432/elf", "embedded:~/x", "storage.postgres.dsn", "~ is not expanded"),
        ("http://qdrant.internal:6333", "ftp://x", "storage.qdrant.url", "must be edge:FOLDER, pgvector: or a URL"),
        ("http://qdrant.internal:6333", "http://", "storage.qdrant.url", "must begin with http"),
        ("http://qdrant.internal:6333", "http://x:99999", "storage.qdrant.url", "must begin with http"),
        ("mem_notes_v1", "mem notes", "storage.qdrant.collection", "must be a name of 1 to 128 letters"),
        ("key-of-rerank", " ", "providers.rerank.api_key", "must be printable ASCII and not empty"),
        ("key-of-rerank", "clé", "providers.rerank.api_key", "must be printable ASCII and not empty"),
        ('"/v1/rerank"', '"v1/rerank"', "providers.rerank.path", 'must be a path that begins with /, not "v1/rerank"'),
        ("temperature = 0.1", "temperature = 3", "providers.llm_extractor.temperature", "must be a number from 0 to 2"),
        ("temperature = 0.1", "temperature = nan", "providers.llm_extractor.temperature", "must be a number"),
        ("temperature = 0.1", "temperature = true", "providers.llm_extractor.temperature", "not true"),
        ("dimensions = \"1536\"", 'dimensions = "many"', "providers.embedding.dimensions", "must be a whole number"),
        ("recency_tau_days = 60", "recency_tau_days = 0", "ranking.recency_tau_days", "must be a number above 0"),
        ("recency_tau_days = 60", "recency_tau_days = inf", "ranking.recency_tau_days", "must be a number above 0"),
        ("timeout_ms = 60000", "timeout_ms = 60000.0", "providers.llm_extractor.timeout_ms", "must be a whole number"),
        ("fact = 180", "fact = 1979-05-27", "lifecycle.ttl_days.fact", "must be a whole number from 0 to 36500"),
        ("max_payload_bytes = 262144", "max_payload_bytes = 0", "search.cache.max_payload_bytes", "from 1 to"),
        ("pool_max_conns = 10", f"pool_max_conns = 0x1{'0' * 9000}", "storage.postgres.pool_max_conns", "that size"),
        ("max_tokens = 512", "max_tokens = 0", "chunking.max_tokens", "must be a whole number from 1"),
        ("\nenabled = true\nmax_tokens", "\nenabled = false\nmax_tokens", "chunking.enabled", "must be true"),
        ("= 0.85", "= 0.95", "memory.update_sim_threshold", "must not be greater than dup_sim_threshold (0.92)"),
    ],
)  # fmt: skip
def test_a_fault_names_its_key_and_what_is_allowed(
    faults_of: FaultsOf, old: str, new: str, key: str, problem: str
) -> None:
    faults = faults_of((old, new))
    assert list(faults) == [key]
    assert problem in faults[key]


@pytest.mark.parametrize(
    ("table", "names"),
    [
        ("embedding", "all-MiniLM-L6-v2 or sentence-transformers/all-MiniLM-L6-v2"),
        ("rerank", "all-MiniLM-L6-v2 or sentence-transformers/all-MiniLM-L6-v2"),
        ("llm_extractor", "rule-based-extractor"),
        ("llm_consolidator", "statement-consolidator"),
    ],
)
def test_a_model_that_the_package_lacks_is_a_fault_with_those_it_has(table: str, names: str) -> None:
    text = example_file().read_text(encoding="utf-8")
    before, head, after = text.partition(f"[providers.{table}]\n")
    changed = before + head + re.sub(r'(?m)^model = ".*"$', 'model = "gpt-5"', after, count=1)
    (fault,) = faults_in(changed)
    assert fault.key == f"providers.{table}.model"
    assert fault.problem == f"must be {names}, which is what local: has, not gpt-5"
    elsewhere = re.sub(r'(?m)^api_base = ".*"$', 'api_base = "http://127.0.0.1:1"', after, count=1)
    assert faults_in(before + head + elsewhere) == ()


@pytest.mark.parametrize("name", MODEL_NAMES)
def test_each_name_of_the_local_model_is_taken(name: str) -> None:
    text = example_file().read_text(encoding="utf-8").replace("all-MiniLM-L6-v2", name)
    assert faults_in(text) == ()


def test_vectors_of_another_length_than_the_local_model_has_are_a_fault() -> None:
    text = example_file().read_text(encoding="utf-8")
    (fault,) = faults_in(re.sub(r"(?m)^(vector_dim|dimensions) = 384$", r"\1 = 512", text))
    assert fault == ConfigFault(
        "providers.embedding.dimensions",
        "must be 384, the length of the vectors of all-MiniLM-L6-v2, not 512",
    )
    (fault,) = faults_in(text.replace("\ndimensions = 384", "\ndimensions = 512"))
    assert "must be equal to storage.qdrant.vector_dim" in fault.problem


@pytest.mark.parametrize(
    ("old", "new", "key", "problem"),
    [
        ("log_level", "loglevel", "service.loglevel", "is not a known key; did you mean log_level?"),
        ("[ranking]", "[rank]", "rank", "is not a known key; did you mean ranking, one table"),
        ("[memory]", "[memory]\nzzz = 1", "memory.zzz", "is not a known key; known here are max_notes_per_add_event"),
        ("[memory]", "[memory]\nretention_days = 1", "memory.retention_days",
         "mean search.explain.retention_days or audit.retention_days?"),
        ("[memory]", '[memory]\n"a.b" = 1', 'memory."a.b"', "is not a known key"),
    ],
)  # fmt: skip
def test_an_unknown_key_is_a_fault_with_the_nearest_known_key(
    faults_of: FaultsOf, old: str, new: str, key: str, problem: str
) -> None:
    assert problem in faults_of((old, new))[key]


def test_a_table_of_the_wrong_kind_is_a_fault(faults_of: FaultsOf) -> None:
    faults = faults_of(("[ranking]\nrecency_tau_days = 60\ntie_breaker_weight = 0.1\n", "[[ranking]]\n"))
    assert faults == {"ranking": "must be one table with the keys recency_tau_days, tie_breaker_weight"}


def test_weights_that_are_all_zero_are_a_fault(faults_of: FaultsOf) -> None:
    fusion = """[search.fusion]
method = "rrf"
k = 60
dense_weight = 0
bm25_weight = 0.0
rerank_weight = 0
retrieval_weight = 0

[ranking]"""
    assert set(faults_of(("[ranking]", fusion))) == {
        "search.fusion.dense_weight",
        "search.fusion.rerank_weight",
    }


@pytest.mark.parametrize(
    ("table", "key", "problem"),
    [
        ('rule = "same"\nneighbours = 8', "memory.merging.rule", "must be one of same_fact, similarity"),
        (
            'rule = "same_fact"\nneighbours = 0',
            "memory.merging.neighbours",
            "must be a whole number from 1 to 100",
        ),
    ],
)
def test_a_faulty_table_of_merging_says_what_is_allowed(
    faults_of: FaultsOf, table: str, key: str, problem: str
) -> None:
    faults = faults_of(("[chunking]", f"[memory.merging]\n{table}\n\n[chunking]"))
    assert list(faults) == [key]
    assert problem in faults[key]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("postgresql://elf:hunter2@db.internal:5432/elf", "postgresq://elf:hunter2@db.internal:5432/elf"),
        ("http://qdrant.internal:6333", "htp://elf:hunter2@qdrant"),
        ("https://api.acme.example", "ftp://elf:hunter2@api.acme.example"),
        ('api_key = "key-of-rerank"', 'api_key = ["hunter2"]'),
        ('api_key = "key-of-rerank"', 'api_key = "hunter2\\u0007"'),
        ("default_headers = {}", 'default_headers = {"X-Key" = "hunter2\\n"}'),
        ("default_headers = {}", 'default_headers = {"X-Key" = ["hunter2"]}'),
        ("default_headers = {}", 'default_headers = "hunter2"'),
    ],
)
def test_a_fault_never_shows_a_secret(old: str, new: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loads(SPEC_TEMPLATE.replace(old, new), source="elf.toml")
    assert "hunter2" not in str(caught.value)


@given(st.sampled_from(TEMPLATE_KEYS), JSON_LIKE)
def test_any_value_at_any_key_loads_or_is_a_fault_below_that_key_or_of_a_rule_about_it(
    path: KeyPath, value: Any
) -> None:
    table = f"[{'.'.join(path[:-1])}]\n"
    text = without(SPEC_TEMPLATE, path).replace(table, f"{table}{path[-1]} = {toml(value)}\n", 1)
    for fault in faults_in(text):
        assert "function" not in fault.key
        assert "input" not in fault.problem.lower()
        # A rule between two tables is reported at one of them only.
        assert fault.key.split(".")[0] in {path[0], "providers", "scopes", "service"}


def test_a_path_is_written_as_toml_writes_keys() -> None:
    assert dotted(("scopes", "read_profiles", "all scopes", 2)) == 'scopes.read_profiles."all scopes"[2]'


@pytest.mark.parametrize("dsn", ["embedded:replica", "mysql://elf:hunter2@db/elf"])
def test_a_read_replica_must_be_a_server_and_its_password_is_not_shown(faults_of: FaultsOf, dsn: str) -> None:
    found = faults_of(("[storage.postgres]\n", f'[storage.postgres]\nread_dsn = "{dsn}"\n'))
    assert found.keys() == {"storage.postgres.read_dsn"}
    assert "must be" in found["storage.postgres.read_dsn"]
    assert "hunter2" not in found["storage.postgres.read_dsn"]


def test_faults_of_the_table_of_a_qdrant_server_are_named(faults_of: FaultsOf) -> None:
    table = '[storage.qdrant.server]\ntransport = "http3"\nshard_number = 0\n'
    found = faults_of(("[providers.embedding]\n", f"{table}\n[providers.embedding]\n"))
    assert found.keys() == {f"storage.qdrant.server.{key}" for key in ("transport", "shard_number")}


def processes(table: str) -> tuple[str, str]:
    """A change of the template that adds [processes] with these keys at its end."""
    end = SPEC_TEMPLATE.splitlines()[-1]
    return (end, f"{end}\n[processes]\n{table}")


@pytest.mark.parametrize(
    ("table", "key", "problem"),
    [
        ("api = -1", "processes.api", "must be a whole number from 0 to 64, not -1"),
        ("worker = 65", "processes.worker", "must be a whole number from 0 to 64, not 65"),
        ('mcp = "one"', "processes.mcp", 'must be a whole number from 0 to 64, not "one"'),
        ("workers = 2", "processes.workers", "is not a known key; did you mean worker?"),
        ("api = 0\nworker = 0\nmcp = 0", "processes", "must not have 0 for all of api, worker, mcp"),
    ],
)
def test_each_fault_of_the_processes_is_named(
    faults_of: FaultsOf, table: str, key: str, problem: str
) -> None:
    assert faults_of(processes(table)) == {key: problem}


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("localhost", "must be host:port with a port of 0 to 65535"),
        ("192.168.1.5:80", "must be a loopback address"),
        ("127.0.0.1:8080", "must differ from service.http_bind"),
        ("127.0.0.1:8081", "must differ from service.mcp_bind"),
        ("127.0.0.1:8082", "must differ from service.admin_bind"),
    ],
)
def test_where_grpc_is_served_is_checked_as_the_other_addresses_are(
    faults_of: FaultsOf, address: str, problem: str
) -> None:
    end = 'admin_bind = "127.0.0.1:8082"'
    found = faults_of((end, f'{end}\ngrpc_bind = "{address}"'))
    assert found.keys() == {"service.grpc_bind"}
    assert problem in found["service.grpc_bind"]


def test_former_ways_to_name_processes_are_told_the_present_one(faults_of: FaultsOf) -> None:
    end = SPEC_TEMPLATE.splitlines()[-1]
    found = faults_of((end, f'{end}\n[process]\nactors = ["indexer"]'))
    table = "one table with the keys api, worker, mcp"
    assert found == {"process": f"is not a known key; did you mean processes, {table}?"}
    found = faults_of((end, f'{end}\n[[processes]]\nname = "a"'))
    assert found == {"processes": f"must be {table}"}


def test_operators_reach_processes_at_the_ports_after_the_first_but_for_that_of_grpc() -> None:
    assert admin_ports(8767, 3, skipped=8768) == [8767, 8769, 8770]
    assert admin_ports(8767, 3, skipped=8770) == admin_ports(8767, 3, skipped=None) == [8767, 8768, 8769]
    assert admin_ports(0, 2, skipped=8768) == [0, 0]


def test_the_admin_ports_of_the_processes_are_kept_free(faults_of: FaultsOf) -> None:
    four = processes("api = 3\nworker = 1")
    admin = re.search(r'admin_bind = "127.0.0.1:(\d+)"', SPEC_TEMPLATE)
    assert admin is not None
    before = ('admin_bind = "127.0.0.1:' + admin[1], 'admin_bind = "127.0.0.1:8078')
    assert set(faults_of(four, before)) == {"service.http_bind", "service.mcp_bind"}
    above = (before[0], before[1] + '"\ngrpc_bind = "127.0.0.1:8079')
    assert set(faults_of(four, above)) == {"service.http_bind", "service.mcp_bind"}, "gRPC's own is left out"
    last = ('admin_bind = "127.0.0.1:' + admin[1], 'admin_bind = "127.0.0.1:65533')
    assert set(faults_of(four, last)) == {"service.admin_bind"}
