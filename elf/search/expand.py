"""Rewording a query with a language model: the prompts of section 16, word for word, and how the answer is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Final, Literal

import structlog

from elf.core.cjk import contains_cjk, contains_nul
from elf.core.secrets import redact, redacting
from elf.core.slices import Slices, in_slices
from elf.providers.port import Chat, JsonAnswer, Prompt
from elf.search.cache import AnswerCache, cache_key
from elf.search.single_flight import SingleFlight

KIND: Final = "expansion"
KEY_MATERIAL: Final = frozenset({"provider_id", "model", "temperature", "expansion_version"})
MAX_QUERY_CHARS: Final = 2048  # as long as a request's query may be

SYSTEM_PROMPT = """\
You are a query expansion engine for a memory retrieval system.
Output must be valid JSON only and must match the provided schema exactly.
Generate short English-only query variations that preserve the original intent.
Do not include any CJK characters. Do not add explanations or extra fields."""

USER_PROMPT = """\
Return JSON matching this exact schema:
<SCHEMA_JSON>
Constraints:
- MAX_QUERIES = <MAX_QUERIES>
- INCLUDE_ORIGINAL = <INCLUDE_ORIGINAL>
Original query:
<QUERY>"""

SCHEMA_SHOWN = """\
{
  "queries": ["string", "..."]
}"""

SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"queries": {"type": "array", "items": {"type": "string"}}},
    "required": ["queries"],
    "additionalProperties": False,
}

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpansionRules:
    """[search.expansion] and [search.dynamic]: when queries are reworded, and into how many."""

    mode: Literal["off", "always", "dynamic"]
    max_queries: int
    include_original: bool
    min_candidates: int
    min_top_score: float


class QueryExpander:
    """Turns one query into several. Equal queries at the same time, and within `ttl_days`, ask the model once.

    `material` is what the model's answers depend on besides the query and the rules: provider_id, model, temperature
    and expansion_version, and nothing else (ValueError). Without a cache nothing is kept.
    """

    def __init__(
        self,
        *,
        chat: Chat,
        rules: ExpansionRules,
        cache: AnswerCache | None,
        material: Mapping[str, Any],
        ttl_days: int,
    ) -> None:
        if material.keys() != KEY_MATERIAL:
            raise ValueError(f"the key material of expansions is {', '.join(sorted(KEY_MATERIAL))}")
        self._chat = chat
        self._rules = rules
        self._cache = cache
        self._material = dict(material)
        self._ttl_days = ttl_days
        self._answer = JsonAnswer("expanded_queries", SCHEMA, _read_queries)
        self._flights: SingleFlight[str, tuple[str, ...]] = SingleFlight()

    def wanted_after(self, candidate_count: int, top_score: float) -> bool:
        """Tell whether a first search found so little that mode dynamic expands; `top_score` is the best fused one."""
        rules = self._rules
        if rules.mode != "dynamic":
            return False
        return candidate_count < rules.min_candidates or top_score < rules.min_top_score

    async def expand(self, query: str) -> list[str]:
        """Return 1 to max_queries queries, each with its whitespace folded and no two alike but for case.

        The original is the first of them when the rules include it, and the only one when the model gives nothing to
        use. Raises ProviderUnavailable when the model does not answer with the JSON asked for.
        """
        original = folded(query)
        if self._rules.include_original and self._rules.max_queries == 1:
            return [original]
        key = cache_key(
            {
                "query": query.strip(),
                "max_queries": self._rules.max_queries,
                "include_original": self._rules.include_original,
            }
            | self._material
        )
        # The cache is read and written within the flight: who comes later finds either the flight or the entry.
        return list(await self._flights.do(key, partial(self._find, key, original)))

    async def _find(self, key: str, original: str) -> tuple[str, ...]:
        asked_at = None if self._cache is None else self._cache.now()
        kept = await self._kept(key)
        usable = kept or await self._asked(original)
        queries = self._chosen(original, usable)
        if not usable:
            log.warning("expansion_without_queries")
        elif not kept:
            await self._keep(key, queries, asked_at)
        return queries

    async def _asked(self, original: str) -> list[str]:
        shown = await in_slices(redacting(original))
        proposed = await self._chat.ask(_prompt_of(shown, self._rules), self._answer)
        return usable_queries(proposed)

    def _chosen(self, original: str, usable: Iterable[str]) -> tuple[str, ...]:
        first = [original] if self._rules.include_original else []
        return tuple(_unlike([*first, *usable])[: self._rules.max_queries]) or (original,)

    async def _kept(self, key: str) -> list[str]:
        if self._cache is None:
            return []
        payload = await self._cache.get(KIND, key)
        return usable_queries(payload) if isinstance(payload, list) else []

    async def _keep(self, key: str, queries: Sequence[str], asked_at: datetime | None) -> None:
        # What holds a secret is not stored, not even for a while.
        if self._cache is not None and not await in_slices(_hold_secret(queries)):
            await self._cache.put(KIND, key, list(queries), ttl_days=self._ttl_days, asked_at=asked_at)


def _hold_secret(queries: Iterable[str]) -> Slices[bool]:
    for query in queries:
        if (yield from redacting(query)) != query:
            return True
    return False


def folded(query: str) -> str:
    """Return the query without whitespace at its ends and with single spaces within."""
    return " ".join(query.split())


def usable_queries(proposed: Iterable[Any]) -> list[str]:
    """Return what can be searched for among a model's proposals: folded, in order, no two alike but for case.

    Left out is what is no string, blank, longer than MAX_QUERY_CHARS, or holds CJK or NUL characters.
    """
    return _unlike(query for one in proposed if isinstance(one, str) and _is_usable(query := folded(one)))


def _is_usable(query: str) -> bool:
    return 0 < len(query) <= MAX_QUERY_CHARS and not contains_cjk(query) and not contains_nul(query)


def _unlike(queries: Iterable[str]) -> list[str]:
    seen: dict[str, str] = {}
    for query in queries:
        seen.setdefault(query.casefold(), query)
    return list(seen.values())


def expansion_prompt(query: str, rules: ExpansionRules) -> Prompt:
    """Return the prompts of section 16. The query goes last, so that nothing in it is mistaken for a slot.

    As in extraction, no secret leaves for the model: it sees `[REDACTED:kind]`.
    """
    return _prompt_of(redact(query), rules)


def _prompt_of(shown: str, rules: ExpansionRules) -> Prompt:
    slots = {
        "<SCHEMA_JSON>": SCHEMA_SHOWN,
        "<MAX_QUERIES>": str(rules.max_queries),
        "<INCLUDE_ORIGINAL>": "true" if rules.include_original else "false",
        "<QUERY>": shown,
    }
    user = USER_PROMPT
    for slot, value in slots.items():
        user = user.replace(slot, value)
    return Prompt(SYSTEM_PROMPT, user)


def _read_queries(value: Any) -> list[Any]:
    if not isinstance(value, dict) or not isinstance(value.get("queries"), list):
        raise ValueError("the content is no object with a list of queries")
    return list(value["queries"])
