"""The rules of [security.auth]: who may be asked for, where, and which keys are none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from elf.config.auth import Auth
from elf.config.breach import FAULTY, Breach, Rule, key_path
from elf.config.places import is_loopback, parse_address
from elf.core.api_key import WEAK_KEYS, hash_of
from elf.core.errors import ConfigFault

CHANGEABLE_CLAIMS: Final = frozenset({"preferred_username", "email"})
"""Claims whose values users choose themselves at many issuers (OpenID Connect Core 1.0, section 5.7)."""


def _keys_read_known_profiles(profiles: Mapping[str, Any], keys: Sequence[Any]) -> Iterator[Breach]:
    for position, key in enumerate(keys):
        profile = key.get("read_profile", "") if isinstance(key, Mapping) else FAULTY
        if profile is not FAULTY and profile and profile not in profiles:
            problem = f"must be empty or one of scopes.read_profiles ({', '.join(profiles)}), not {profile}"
            yield Breach(key_path("security.auth.keys", position, "read_profile"), problem)


def _keys_are_hard_to_guess(keys: Sequence[Any]) -> Iterator[Breach]:
    weak = {hash_of(word) for word in WEAK_KEYS}
    for position, key in enumerate(keys):
        if isinstance(key, Mapping) and key.get("hash") in weak:
            problem = "is that of a key which anybody guesses; make one with `elf key new`"
            yield Breach(key_path("security.auth.keys", position, "hash"), problem)


def _keys_differ(keys: Sequence[Any]) -> Iterator[Breach]:
    seen: dict[str, int] = {}
    for position, key in enumerate(keys):
        digest = key.get("hash") if isinstance(key, Mapping) else None
        if not isinstance(digest, str):
            continue
        if digest in seen:
            problem = f"is that of security.auth.keys[{seen[digest]}], too: each key is listed once"
            yield Breach(key_path("security.auth.keys", position, "hash"), problem)
        seen.setdefault(digest, position)


def _front_asks_who_calls(name: str) -> Rule:
    def rule(bind: str | None, security: Mapping[str, Any]) -> Iterator[Breach]:
        if (
            bind is None
            or security.get("bind_localhost_only") is not False
            or is_loopback(parse_address(bind))
        ):
            return  # or another rule says so already
        if _mode(security) == "off":
            yield Breach(
                key_path("security.auth.mode"),
                f'must be "required" while service.{name} is {bind}, which others than this machine reach: put'
                f' mode = "required" below [security.auth], and there the table that `elf key new NAME` prints',
            )

    return rule


def _somebody_may_call(security: Mapping[str, Any]) -> Iterator[Breach]:
    auth = security.get("auth") or {}
    if _mode(security) == "required" and not auth.get("keys") and auth.get("jwt") is None:
        problem = (
            "lets nobody in without keys and without [security.auth.jwt]; `elf key new NAME` makes a key"
        )
        yield Breach(key_path("security.auth.mode"), problem)


def _mode(security: Mapping[str, Any]) -> Any:
    auth = security.get("auth") or {}
    return FAULTY if auth is FAULTY else auth.get("mode", "off")


def _secrets_are_in_a_file(jwt: Mapping[str, Any] | None) -> Iterator[Breach]:
    algorithms = (jwt or {}).get("algorithms", [])
    for position, algorithm in enumerate(algorithms if isinstance(algorithms, Sequence) else ()):
        if isinstance(algorithm, str) and algorithm.startswith("HS") and not (jwt or {}).get("jwks_file"):
            problem = f"must not be {algorithm} without jwks_file: what an issuer publishes is no secret"
            yield Breach(key_path("security.auth.jwt.algorithms", position), problem)


AUTH_RULES: Final[tuple[tuple[Rule, tuple[str, ...]], ...]] = (
    (_keys_read_known_profiles, ("scopes.read_profiles", "security.auth.keys")),
    (_keys_are_hard_to_guess, ("security.auth.keys",)),
    (_keys_differ, ("security.auth.keys",)),
    (_front_asks_who_calls("http_bind"), ("service.http_bind", "security")),
    (_front_asks_who_calls("mcp_bind"), ("service.mcp_bind", "security")),
    (_front_asks_who_calls("grpc_bind"), ("service.grpc_bind", "security")),
    (_somebody_may_call, ("security",)),
    (_secrets_are_in_a_file, ("security.auth.jwt",)),
)


def auth_warnings(auth: Auth) -> Iterator[ConfigFault]:
    """Yield what keeps nothing from starting, and lets in more than most operators mean."""
    jwt = auth.jwt
    if jwt is None or auth.mode == "off":
        return
    for position, name in enumerate(jwt.user_claims):
        if name.rpartition(".")[2].rpartition("/")[2] in CHANGEABLE_CLAIMS:
            problem = (
                f"{name} is a claim that users can change at many issuers, and so become another user here; sub never"
                " changes"
            )
            yield ConfigFault(f"security.auth.jwt.user_claims[{position}]", problem)
    if not jwt.audience:
        problem = (
            "is empty, so that any token of the issuer passes, also one that was issued for another application; name"
            " the audience that tokens for this service have"
        )
        yield ConfigFault("security.auth.jwt.audience", problem)
