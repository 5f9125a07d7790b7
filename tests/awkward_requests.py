"""The biggest and most awkward requests that are still within the documented bounds, for every endpoint."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

BODY_BYTES = 1024 * 1024
LONGEST_STRING = 16_384
MOST_VALUES = 100_000
LONG_BYTES = 6_800_000
EPISODE_CHARS = 262_144
BEGINNING = "This lighthouse keeps {}."
PLACE = {"project_id": "p", "agent_id": "a"}


@dataclass(frozen=True, slots=True)
class Sent:
    """One request. A POST has a body, written as JSON already."""

    label: str
    method: str
    path: str
    body: bytes = b""
    params: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


def texts(seed: int) -> dict[str, str]:
    """Texts of one message's length whose shapes are hard on detectors, by what they are."""
    rng = random.Random(seed)
    words = [
        "password",
        "token",
        "the",
        "is",
        "42",
        "street",
        "Ana",
        "of",
        "abandon",
        "zoo",
        "4111",
        "key=",
        "http://",
    ]
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_-."
    shapes = {
        "digits and spaces": "4 ",
        "one letter": "a",
        "decimals": "12.5 ",
        "measurements": "3.4, 5.6 mm; ",
        "dots": ".",
        "dashes": "-",
        "quotes": "\"' ",
        "at signs": "a@",
        "colons": "a: ",
        "equals": "password=",
        "urls": "http://a:",
        "begin": "-----BEGIN ",
        "seed words": "abandon ability ",
        "jwt": "eyJhbGciOi.",
        "newlines": "\n",
        "house numbers": "12 Main ",
        "card groups": "4111-",
        "hex": "deadbeef",
        "brackets": "[REDACTED:",
        "accents": "\u00e9",
        "curly": "\u201cpassword\u201d \u2014 ",
        "emoji": "\U0001f642 ",
        "zero width": "a\u200b",
        "fullwidth": "\uff14",
    }
    made = {
        name: (shape * (LONGEST_STRING // len(shape) + 1))[:LONGEST_STRING] for name, shape in shapes.items()
    }
    made["words"] = " ".join(rng.choices(words, k=LONGEST_STRING))[:LONGEST_STRING]
    made["letters"] = "".join(rng.choices(letters, k=LONGEST_STRING))
    made["sentences"] = ("I prefer tea. We decided to use 5 ml. My name is Ana. " * 400)[:LONGEST_STRING]
    made["no end"] = ("We will " + "go and " * LONGEST_STRING)[:LONGEST_STRING]
    return made


def references(seed: int) -> dict[str, dict[str, Any]]:
    """References of about one mebibyte in all, by what they are."""
    rng = random.Random(seed)
    deep: Any = "x"
    for _ in range(60):
        deep = {"k": [deep]}
    room = BODY_BYTES - 4096

    def many(size: int) -> range:
        return range(min(room // size, MOST_VALUES - 100))

    refs: dict[str, dict[str, Any]] = {
        "empty lists": {"k": [[] for _ in many(3)]},
        "empty objects": {"k": [{} for _ in many(3)]},
        "numbers": {"k": [7] * len(many(2))},
        "big numbers": {"k": [rng.randrange(10**17, 10**18) for _ in range(room // 20)]},
        "card-like numbers": {"k": [rng.randrange(10**15, 10**16) for _ in range(room // 18)]},
        "floats": {"k": [rng.random() for _ in range(room // 22)]},
        "exponents": {"k": [1e23] * 2700},  # read back from Postgres as integers
        "smallest floats": {"k": [2.2250738585072011e-308] * 200},
        "longest integers": {"k": [10**4200] * 15},
        "nulls": {"k": [None] * len(many(5))},
        "short strings": {"k": ["s"] * len(many(4))},
        "short accented strings": {"k": ["\u00e9"] * len(many(6))},
        "small keys": {f"{number:x}": 1 for number in many(11)},
        "small keys and strings": {f"k{number:x}": "v" for number in range(room // 14)},
        "password keys": {f"password {number}": "v" for number in range(room // 24)},
        "equal after redaction": {f"AKIAIOSFODNN7{number:07d}"[:20]: 1 for number in range(room // 26)},
        "deep": {f"d{number}": deep for number in range(min(room // 700, MOST_VALUES // 130))},
        "escapes": {"k": ["\\u00e9"] * len(many(14))},
    }
    for name, text in texts(seed).items():
        refs[f"strings of {name}"] = {"k": filling(text, room)}
    refs["keys of letters"] = {
        f"{number}{text}"[:LONGEST_STRING]: 1
        for number, text in enumerate(["".join(rng.choices("abc ", k=LONGEST_STRING)) for _ in range(60)])
    }
    return refs


def filling(text: str, room: int) -> list[str]:
    """The text as often as it fits into `room` bytes of JSON."""
    return [text] * max(1, room // (len(json.dumps(text, ensure_ascii=False).encode()) + 1))


def body(tenant: str, **fields: Any) -> bytes:
    """A body in the context of a tenant, cut to no size: what is too large is the caller's fault."""
    content = json.dumps(
        {"tenant_id": tenant, **PLACE, **fields}, ensure_ascii=False, separators=(",", ":")
    ).encode()
    assert len(content) <= BODY_BYTES, len(content)
    return content


def note(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "fact", "text": text, "importance": 0.5, "confidence": 0.5, **fields}


def add_note(label: str, tenant: str, notes: list[dict[str, Any]]) -> Sent:
    content = body(tenant, scope="project_shared", notes=notes)
    return Sent(f"add_note {label}", "POST", "/v1/memory/add_note", content)


def writes(tenant: str, seed: int) -> Iterator[Sent]:
    """Notes with references as large as they may be: in one note, and spread over 256."""
    for name, ref in references(seed).items():
        yield add_note(
            f"one note, {name}", tenant, [note("Fact: a shelf.", key=f"one {name}", source_ref=ref)]
        )
    for name in ("numbers", "exponents", "smallest floats", "longest integers", "small keys"):
        again = note("Fact: a shelf.", key=f"one {name}", source_ref=references(seed)[name])
        yield add_note(f"again, {name}", tenant, [again])
    yield from spread(tenant, seed)


def spread(tenant: str, seed: int) -> Iterator[Sent]:
    each = (BODY_BYTES - 90_000) // 256
    for name, text in texts(seed).items():
        cut = text[:240].strip() or "plain"
        full = [note(cut, key=f"{name} {place}"[:128]) for place in range(256)]
        yield add_note(f"256 notes of {name}", tenant, full)
        ref = {"k": json.loads(json.dumps(text.encode()[: each - 400].decode(errors="ignore")))}
        while len(json.dumps(ref, ensure_ascii=False).encode()) > each - 150:
            ref["k"] = ref["k"][: len(ref["k"]) * 9 // 10]
        notes = [
            note("Fact: a shelf.", key=f"ref {name} {place}"[:128], source_ref=ref) for place in range(256)
        ]
        yield add_note(f"256 references of {name}", tenant, notes)
    notes = [note(f"Fact: shelf number {place} holds jam and honey.") for place in range(256)]
    yield add_note("256 notes without keys", tenant, notes)
    long = "Fact: " + "a very long shelf number holds jam, "
    notes = [note(f"{place} " + (long * 10)[:236]) for place in range(256)]
    yield add_note("256 longest notes without keys", tenant, notes)
    small = {f"{number:x}": 1 for number in range(each // 11)}
    notes = [note("Fact: a shelf.", key=f"small {place}", source_ref=small) for place in range(256)]
    yield add_note("256 references of small keys", tenant, notes)


def events(tenant: str, seed: int) -> Iterator[Sent]:
    """Conversations of one mebibyte."""
    room = BODY_BYTES - 8192
    for name, text in texts(seed).items():
        messages = [{"role": "user", "content": one} for one in filling(text, room - 40 * 256)][:62]
        yield Sent(
            f"add_event {name}", "POST", "/v1/memory/add_event",
            body(tenant, dry_run=True, scope="project_shared", messages=messages),
        )  # fmt: skip
    short = "I prefer tea. We decided to use Postgres. "
    messages = [
        {"role": "user", "content": (short * 90)[:3900], "ts": "t" * 100, "msg_id": "m"} for _ in range(250)
    ]
    yield Sent(
        "add_event 250 messages",
        "POST",
        "/v1/memory/add_event",
        body(tenant, scope="project_shared", messages=messages),
    )


def long_texts() -> dict[str, str]:
    """Texts of nearly seven megabytes, which one entry may have, by what they are."""
    shapes = {
        "prose": "The harbour was quiet, and nobody on the pier had seen the ferry leave for Porto that evening. ",
        "signs": "sig=",
        "letters": "x",
        "lines": "a b\n",
        "spaces": " a" + " " * 1000,
        "cjk": "\u6771\u4eac",
        "accents": "\u00e9t\u00e9 ",
        "emoji": "\U0001f642 ",
    }
    return {name: shape * (LONG_BYTES // len(shape.encode())) for name, shape in shapes.items()}


def long_entries(conversation: str) -> Iterator[Sent]:
    """Entries of these texts, and all that an agent remembers."""
    path = f"/v1/conversations/{conversation}/entries"
    for name, text in long_texts().items():
        said = {"contentType": "history", "content": [{"text": f"{BEGINNING.format(name)} {text}"}]}
        yield Sent(f"long entry of {name}", "POST", path, json.dumps(said, ensure_ascii=False).encode())
        yield Sent(f"long entry of {name}, read", "GET", path, params={"limit": "1"})
        items = [{"text": text[place : place + 70_000]} for place in range(0, len(text), 70_000)]
        known = {"contentType": "memory", "channel": "memory", "content": items}
        body = json.dumps(known, ensure_ascii=False).encode()
        yield Sent(f"long sync of {name}", "POST", f"{path}/sync", body, headers={"X-Client-ID": "bot"})


def long_memories(tenant: str) -> Iterator[Sent]:
    """Episodes and values of such texts, as long as each may be."""
    for name, text in long_texts().items():
        content = text[: min(EPISODE_CHARS, BODY_BYTES * 9 // 10 // len(text[:1].encode()))]
        episode = {
            "tenant_id": tenant,
            "butler": "travel",
            "content": content,
            "metadata": {"user_id": "ana"},
        }
        sent = json.dumps(episode, ensure_ascii=False).encode()
        yield Sent(f"long episode of {name}", "POST", "/v1/knowledge/episodes", sent)
        value = {"x": text, "y": [text[:100_000]] * 20}
        put = {"tenant_id": tenant, "user_id": "ana", "namespace": ["long"], "key": name, "value": value}
        for paths in ([], ["$"], ["x", "y[*]"]):
            index = {"index": paths} if paths else {}
            sent = json.dumps({**put, **index}, ensure_ascii=False).encode()
            yield Sent(f"long value of {name} by {paths}", "POST", "/v1/store/put", sent)
    query = {"tenant_id": tenant, "query": "harbour ferry Porto evening sig \u6771\u4eac \u00e9t\u00e9 a b x"}
    whose = {"user_id": "ana", "agent_id": "travel", "budget_tokens": 100_000, "top_k": 100}
    for name in ("recall", "context"):
        yield Sent(f"long episodes in a {name}", "POST", f"/v1/{name}", json.dumps(query | whose).encode())
    search = json.dumps(query | {"limit": 100}).encode()
    yield Sent("long episodes in a search", "POST", "/v1/knowledge/search", search)


def searches(tenant: str, seed: int) -> Iterator[Sent]:
    """Queries as long as they may be, with the most candidates."""
    for name, text in texts(seed).items():
        query = text[:2048]
        yield Sent(
            f"search {name}", "POST", "/v1/memory/search",
            body(
                tenant, read_profile="all_scopes", query=query if query.strip() else "x", top_k=100, candidate_k=1000,
                record_hits=True,
            ),
        )  # fmt: skip


def reads(tenant: str) -> Iterator[Sent]:
    """The largest pages."""
    params = {"tenant_id": tenant, "project_id": "p"}
    yield Sent("list 200", "GET", "/v1/memory/list", params=params | {"limit": "200"})
    agent = params | {"agent_id": "a", "limit": "200"}
    yield Sent("traces 200", "GET", "/v1/memory/search/traces", params=agent)


def lives(tenant: str, pages: Iterator[list[dict[str, Any]]]) -> Iterator[Sent]:
    """Everything that can be asked about the largest notes there are."""
    place = {"tenant_id": tenant, **PLACE}
    items = [item for page in pages for item in page]
    items.sort(key=lambda item: len(json.dumps(item)), reverse=True)
    for number, item in enumerate(items[:4]):
        note_id, key = item["note_id"], item["key"]
        path = f"/v1/memory/notes/{note_id}"
        yield Sent(f"get {key}", "GET", path)
        for step in range(3):
            changed = json.dumps(place | {"note_id": note_id, "importance": (number + step) / 10}).encode()
            yield Sent(f"update {key} {step}", "POST", "/v1/memory/update", changed)
        yield Sent(f"history {key}", "GET", f"{path}/history", params={"limit": "200"})
        gone = json.dumps(place | {"note_id": note_id}).encode()
        yield Sent(f"delete {key}", "POST", "/v1/memory/delete", gone)
        yield Sent(f"restore {key}", "POST", f"{path}/restore", json.dumps(place).encode())


def explanations(tenant: str, handles: list[str]) -> Iterator[Sent]:
    """Explanations of searches with as many candidates as there may be."""
    for handle in handles:
        yield Sent("explain", "GET", "/v1/memory/search/explain", params={"result_handle": handle})
    yield Sent(
        "traces again", "GET", "/v1/memory/search/traces",
        params={"tenant_id": tenant, "limit": "200"} | PLACE,
    )  # fmt: skip


def operations(tenant: str) -> Iterator[Sent]:
    """What operators ask for."""
    yield Sent("decisions", "GET", "/v1/admin/ingest_decisions", params={"tenant_id": tenant, "limit": "200"})
    yield Sent("metrics", "GET", "/metrics")
    yield Sent("drift", "GET", "/v1/admin/index_drift", params={"examples": "100"})
    yield Sent("rebuild", "POST", "/v1/admin/rebuild_qdrant")
    yield Sent("repair", "POST", "/v1/admin/index_repair")
    yield Sent("openapi", "GET", "/openapi.json")
    yield Sent("docs", "GET", "/docs")


def faults(tenant: str) -> Iterator[Sent]:
    """Large bodies with a fault in every place."""
    room = BODY_BYTES - 4096
    place = {"tenant_id": tenant, **PLACE, "scope": "project_shared"}

    def sent(label: str, **fields: Any) -> Sent:
        content = json.dumps(place | fields, ensure_ascii=False, separators=(",", ":")).encode()
        assert len(content) <= BODY_BYTES
        return Sent(f"fault {label}", "POST", "/v1/memory/add_note", content)

    yield sent("empty notes", notes=[{} for _ in range(room // 3)])
    yield sent("256 empty notes", notes=[{} for _ in range(256)])
    yield sent("unknown fields", notes=[{f"{n:x}": 1 for n in range(room // 11)}])
    yield sent("unknown fields on top", notes=[], **{f"{n:x}": 1 for n in range(room // 11)})
    cjk = "\u4e2d"
    yield sent("cjk everywhere", notes=[note("x", source_ref={"k": [cjk] * (room // 6)})])
    yield sent("cjk keys", notes=[note("x", source_ref={f"{cjk}{n:x}": 1 for n in range(room // 14)})])
    yield sent("long integers", notes=[note("x", source_ref={"k": [10**4200] * (room // 4203)})])
    yield sent("small floats", notes=[note("x", source_ref={"k": [2.2250738585072011e-308] * (room // 26)})])
    yield sent("nul everywhere", notes=[note("x", source_ref={"k": ["\x00"] * (room // 9)})])
    yield sent("nul at the end", notes=[note("x", source_ref={"k": ["\u00e9"] * (room // 6 - 9) + ["\x00"]})])
    deep = b'{"tenant_id":"%s","k":' % tenant.encode() + b"[" * (room // 2) + b"]" * (room // 2) + b"}"
    yield Sent("fault deep", "POST", "/v1/memory/add_note", deep)
    shallow = b"[" * 120 + b"]" * 120
    content = b'{"tenant_id":"%s","k":[' % tenant.encode() + b",".join([shallow] * (room // 241)) + b"]}"
    yield Sent("fault many nests", "POST", "/v1/memory/add_note", content)
    yield Sent("fault a long string", "POST", "/v1/memory/search", b'{"query":"' + b"q" * room + b'"}')
    yield Sent("fault a long key", "POST", "/v1/memory/search", b'{"' + b"q" * room + b'":1}')
    yield Sent("fault repeated key", "POST", "/v1/memory/search", b"{" + b'"q":1,' * (room // 6) + b'"q":1}')
    yield Sent(
        "fault a long identifier",
        "POST",
        "/v1/memory/search",
        b'{"tenant_id":"' + b"4 " * (room // 2) + b'"}',
    )
    yield Sent("fault no JSON", "POST", "/v1/memory/search", b"{" * room)
    yield Sent(
        "fault many tenants", "POST", "/v1/memory/search", b'{"tenant_id":[' + b"{}," * (room // 3) + b"1]}"
    )


def call(tool: str, arguments: dict[str, Any]) -> bytes:
    """A call of an MCP tool as it is sent."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def calls(tenant: str, seed: int) -> Iterator[tuple[str, bytes]]:
    """Calls of MCP tools as large as the API takes them, and larger ones."""
    place = {"tenant_id": tenant, **PLACE}
    for name, ref in references(seed).items():
        if not name.startswith("strings of") or name.endswith(("letters", "accents", "quotes")):
            notes = [note("Fact: a shelf.", key=f"mcp {name}", source_ref=ref)]
            yield (
                f"tool add_note {name}",
                call("memory_add_note", place | {"scope": "project_shared", "notes": notes}),
            )
    notes = [note("Fact: a shelf.", key=f"mcp {n}", source_ref={"k": "x" * 3500}) for n in range(256)]
    yield "tool add_note 256", call("memory_add_note", place | {"scope": "project_shared", "notes": notes})
    messages = [{"role": "user", "content": ("I prefer tea. " * 300)[:3900]} for _ in range(250)]
    yield "tool add_event", call("memory_add_event", place | {"messages": messages})
    yield "tool list", call("memory_list", {"tenant_id": tenant, "project_id": "p", "limit": 200})
    asked = place | {
        "read_profile": "all_scopes",
        "query": "a shelf of honey",
        "top_k": 100,
        "candidate_k": 1000,
    }
    yield "tool search", call("memory_search", asked)
    yield "tool too many values", call("memory_search", place | {"k": [[] for _ in range(300_000)]})
    yield "tool too large", call("memory_search", place | {"k": "q" * (16 * BODY_BYTES)})
    yield "tool no JSON", b"[" * (2 * BODY_BYTES)
