"""The rules that tie keys of a config file together.

They work on plain tables, not on models, so that they can also run over the sound parts of a faulty file: a
value that has a fault of its own is replaced by FAULTY beforehand, and a rule is left out when one of its
values is missing or FAULTY.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from elf.config.auth_rules import AUTH_RULES
from elf.config.breach import FAULTY, Breach, Rule, key_path
from elf.config.packaged import CONSOLIDATOR_NAME, EXTRACTOR_NAME
from elf.config.places import LOCAL, is_loopback, parse_address
from elf.config.processes import OPERATED, ROLES, admin_ports
from elf.providers.local.catalog import MODEL_NAMES, find_model


def breaches(tables: Mapping[str, Any]) -> list[Breach]:
    """Return every broken rule among the values that are there and sound, each with the path of one value."""
    found: list[Breach] = []
    for rule, keys in _RULES:
        values = [_value_at(tables, key) for key in keys]
        if not any(value is FAULTY for value in values):
            found.extend(rule(*values))
    return found


def _value_at(tables: Mapping[str, Any], key: str) -> Any:
    value: Any = tables
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return FAULTY
        value = value[part]
    return value


def _dimensions_match(dimensions: int | str, vector_dim: int) -> Iterator[Breach]:
    if int(dimensions) != vector_dim:
        problem = f"must be equal to storage.qdrant.vector_dim ({vector_dim}), not {dimensions}"
        yield Breach(key_path("providers.embedding.dimensions"), problem)


def _local_has(key: str, names: Collection[str]) -> Rule:
    def rule(api_base: str, model: str) -> Iterator[Breach]:
        if api_base == LOCAL and model not in names:
            problem = f"must be {' or '.join(names)}, which is what {LOCAL} has, not {model}"
            yield Breach(key_path(key), problem)

    return rule


def _local_has_dimensions(
    api_base: str, model: str, dimensions: int | str, vector_dim: int
) -> Iterator[Breach]:
    spec = find_model(model)
    # Where the two lengths differ, or the model is none, that is said already.
    if api_base == LOCAL and spec is not None and int(dimensions) == vector_dim != spec.dimensions:
        problem = f"must be {spec.dimensions}, the length of the vectors of {model}, not {dimensions}"
        yield Breach(key_path("providers.embedding.dimensions"), problem)


def _admin_is_loopback(admin_bind: str) -> Iterator[Breach]:
    if not is_loopback(parse_address(admin_bind)):
        yield Breach(
            key_path("service.admin_bind"), "must be a loopback address always, such as 127.0.0.1 or [::1]"
        )


def _front_is_loopback(name: str) -> Rule:
    def rule(bind: str | None, localhost_only: bool) -> Iterator[Breach]:
        if bind is not None and localhost_only and not is_loopback(parse_address(bind)):
            problem = (
                "must be a loopback address, such as 127.0.0.1, while security.bind_localhost_only is true"
            )
            yield Breach(key_path(f"service.{name}"), problem)

    return rule


def _binds_differ(first: str, second: str) -> Rule:
    def rule(first_bind: str, second_bind: str | None) -> Iterator[Breach]:
        if second_bind is None:
            return
        if parse_address(first_bind) == parse_address(second_bind) and parse_address(first_bind).port != 0:
            yield Breach(key_path(f"service.{second}"), f"must differ from service.{first}")

    return rule


def _scopes_are_named_once(allowed: Sequence[Any]) -> Iterator[Breach]:
    for position, scope in enumerate(allowed):
        if scope is not FAULTY and scope in allowed[:position]:
            yield Breach(key_path("scopes.allowed", position), f"names {scope} a second time")


def _profiles_name_scopes(allowed: Sequence[Any], profiles: Mapping[str, Any]) -> Iterator[Breach]:
    if FAULTY in allowed:
        return
    for profile, scopes in profiles.items():
        for position, scope in enumerate(scopes if scopes is not FAULTY else ()):
            if scope is FAULTY:
                continue
            path = key_path("scopes.read_profiles", profile, position)
            if scope not in allowed:
                yield Breach(path, f"must be one of scopes.allowed ({', '.join(allowed)}), not {scope}")
            elif scope in scopes[:position]:
                yield Breach(path, f"names {scope} a second time")


def _profile_is_known(key: str) -> Rule:
    def rule(profiles: Mapping[str, Any], profile: str) -> Iterator[Breach]:
        if profile and profile not in profiles:
            problem = f"must be empty or one of scopes.read_profiles ({', '.join(profiles)}), not {profile}"
            yield Breach(key_path(key), problem)

    return rule


def _scope_is_written(key: str) -> Rule:
    def rule(allowed: Sequence[Any], write_allowed: Mapping[str, Any], scope: str) -> Iterator[Breach]:
        if not scope or FAULTY in allowed:
            return
        path = key_path(key)
        if scope not in allowed:
            yield Breach(path, f"must be empty or one of scopes.allowed ({', '.join(allowed)}), not {scope}")
        elif write_allowed.get(scope) is False:
            yield Breach(path, f"must be a scope that may be written; scopes.write_allowed.{scope} is false")

    return rule


def _table_covers_scopes(key: str) -> Rule:
    def rule(allowed: Sequence[Any], table: Mapping[str, Any]) -> Iterator[Breach]:
        if FAULTY in allowed:
            return
        for scope in dict.fromkeys(allowed):
            if scope not in table:
                yield Breach(
                    key_path(key, scope), f"is missing; {key} must have every scope of scopes.allowed"
                )
        for scope in table:
            if scope not in allowed:
                problem = f"is not one of scopes.allowed ({', '.join(allowed)})"
                yield Breach(key_path(key, scope), problem)

    return rule


def _at_most(key: str, limit_key: str) -> Rule:
    def rule(value: float, limit: float) -> Iterator[Breach]:
        if value > limit:
            name = limit_key.rpartition(".")[2]
            yield Breach(key_path(key), f"must not be greater than {name} ({limit}), not {value}")

    return rule


def _overlap_is_smaller(overlap: int, maximum: int) -> Iterator[Breach]:
    if overlap >= maximum:
        yield Breach(
            key_path("chunking.overlap_tokens"), f"must be less than max_tokens ({maximum}), not {overlap}"
        )


def _not_both_zero(first: str, second: str) -> Rule:
    def rule(first_weight: float, second_weight: float) -> Iterator[Breach]:
        if first_weight == 0 and second_weight == 0:
            yield Breach(key_path(f"search.fusion.{first}"), f"must not be 0 while {second} is 0")

    return rule


def _there_are_processes(processes: Mapping[str, Any] | None) -> Iterator[Breach]:
    if processes is not None and not any(processes.get(role, 1) for role in ROLES):
        yield Breach(key_path("processes"), f"must not have 0 for all of {', '.join(ROLES)}")


def _admin_ports_are_free(
    admin_bind: str,
    http_bind: str,
    mcp_bind: str,
    service: Mapping[str, Any],
    processes: Mapping[str, Any] | None,
) -> Iterator[Breach]:
    first, wanted = parse_address(admin_bind).port, _admin_fronts(processes)
    if first == 0 or wanted < 2:
        return
    grpc_bind = service.get("grpc_bind")
    skipped = parse_address(grpc_bind).port if isinstance(grpc_bind, str) else None
    *_, last = admin_ports(first, wanted, skipped=skipped)
    if last > 65_535:
        problem = f"must leave {wanted} ports up to 65535, one for each api and worker of [processes]"
        yield Breach(key_path("service.admin_bind"), problem)
    for name, bind in (("http_bind", http_bind), ("mcp_bind", mcp_bind)):
        if first < parse_address(bind).port <= last:
            problem = f"must not be a port from {first} to {last}: operators reach the [processes] there"
            yield Breach(key_path(f"service.{name}"), problem)


def _admin_fronts(processes: Mapping[str, Any] | None) -> int:
    counts = [] if processes is None else [processes.get(role, 1) for role in OPERATED]
    return sum(count for count in counts if count is not FAULTY)


_RULES: Final[tuple[tuple[Rule, tuple[str, ...]], ...]] = (
    (_dimensions_match, ("providers.embedding.dimensions", "storage.qdrant.vector_dim")),
    *(
        (_local_has(f"{table}.model", names), (f"{table}.api_base", f"{table}.model"))
        for table, names in (
            ("providers.embedding", MODEL_NAMES),
            ("providers.rerank", MODEL_NAMES),
            ("providers.llm_extractor", [EXTRACTOR_NAME]),
            ("providers.llm_consolidator", [CONSOLIDATOR_NAME]),
        )
    ),
    (
        _local_has_dimensions,
        (
            "providers.embedding.api_base",
            "providers.embedding.model",
            "providers.embedding.dimensions",
            "storage.qdrant.vector_dim",
        ),
    ),
    (_admin_is_loopback, ("service.admin_bind",)),
    *(
        (_front_is_loopback(front), (f"service.{front}", "security.bind_localhost_only"))
        for front in ("http_bind", "mcp_bind", "grpc_bind")
    ),
    *(
        (_binds_differ(first, second), (f"service.{first}", f"service.{second}"))
        for first, second in combinations(("http_bind", "mcp_bind", "admin_bind", "grpc_bind"), 2)
    ),
    (_scopes_are_named_once, ("scopes.allowed",)),
    (_profiles_name_scopes, ("scopes.allowed", "scopes.read_profiles")),
    *(
        (_profile_is_known(key), ("scopes.read_profiles", key))
        for key in ("mcp.context.read_profile", "defaults.read_profile")
    ),
    *AUTH_RULES,
    *(
        (_scope_is_written(key), ("scopes.allowed", "scopes.write_allowed", key))
        for key in ("defaults.scope", "mcp.context.scope")
    ),
    (_table_covers_scopes("scopes.precedence"), ("scopes.allowed", "scopes.precedence")),
    (_table_covers_scopes("scopes.write_allowed"), ("scopes.allowed", "scopes.write_allowed")),
    *(
        (_at_most(key, limit), (key, limit))
        for key, limit in (
            ("memory.update_sim_threshold", "memory.dup_sim_threshold"),
            ("memory.top_k", "memory.candidate_k"),
            ("security.evidence_min_quotes", "security.evidence_max_quotes"),
        )
    ),
    (_overlap_is_smaller, ("chunking.overlap_tokens", "chunking.max_tokens")),
    (
        _not_both_zero("dense_weight", "bm25_weight"),
        ("search.fusion.dense_weight", "search.fusion.bm25_weight"),
    ),
    (_there_are_processes, ("processes",)),
    (
        _admin_ports_are_free,
        ("service.admin_bind", "service.http_bind", "service.mcp_bind", "service", "processes"),
    ),
    (
        _not_both_zero("rerank_weight", "retrieval_weight"),
        ("search.fusion.rerank_weight", "search.fusion.retrieval_weight"),
    ),
)
