"""Trials: short stories of what somebody does with the service and expects of it, played against a running one.

    python -m ops.eval.trials                   the development half, by case, and what fails of it
    python -m ops.eval.trials FILE [FILE...]    other trials, such as the guards or the held-out half
    python -m ops.eval.trials --quiet FILE      only how many pass: whoever looks at what fails uses a held-out half up

Each trial has users, agents and graphs of its own. It passes when all of its checks hold.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import re
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Self
from uuid import uuid4

import anyio
import httpx
import msgspec

from elf import Memory
from elf.cli import main as elf_main
from elf.client import AsyncClient, Client
from elf.client.families.memories import MemoriesClient
from elf.client.families.store import StoreClient
from elf.core.errors import ServiceError
from tests.folders import fresh_folder
from tests.system.service import RunningService, write_config

DATA: Final = Path(__file__).parent / "data"
TENANT: Final = "default"
DESK: Final = "desk"
AT_LEAST: Final = 0.95
WAIT_MS: Final = 30_000
Z: Final = 1.96
LABEL: Final = re.compile(r"^(?:Preference|Profile|Decision|Fact|Plan|Constraint|Relation|Note): ")

Trial = Mapping[str, Any]
Step = Mapping[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", default=[DATA / "trials-dev.json"])
    parser.add_argument("--quiet", action="store_true", help="do not tell which trials fail, nor why")
    parser.add_argument("--only", metavar="WORD", default="", help="only trials whose id has this word")
    parser.add_argument("--at-least", type=float, default=AT_LEAST, help="the share that has to pass (.95)")
    options = parser.parse_args(argv)
    trials = [one for file in options.files for one in json.loads(file.read_text(encoding="utf-8"))]
    passed: defaultdict[str, list[bool]] = defaultdict(list)
    with Stage() as stage:
        for trial in trials:
            if options.only not in trial["id"]:
                continue
            faults = played(stage, trial)
            passed[trial["row"]].append(not faults)
            if faults and not options.quiet:
                print(f"{trial['id']} ({trial['interface']}): {trial['story']}")
                print("".join(f"    {fault}\n" for fault in faults), end="", flush=True)
    for row, results in sorted(passed.items()):
        print(f"{row:22} {sum(results):3} of {len(results):3}")
    every = [one for results in passed.values() for one in results]
    low, high = interval(sum(every), len(every))
    share = sum(every) / max(1, len(every))
    print(f"{'all':22} {sum(every):3} of {len(every):3}  {share:.3f} ({low:.3f} to {high:.3f})")
    return 0 if share >= options.at_least else 1


def interval(right: int, of: int) -> tuple[float, float]:
    """Return Wilson's interval of 95% for a share."""
    if of == 0:
        return 0.0, 1.0
    share, spread = right / of, Z * Z / of
    middle, half = share + spread / 2, Z * math.sqrt(share * (1 - share) / of + spread / (4 * of))
    return (middle - half) / (1 + spread), (middle + half) / (1 + spread)


class Stage:
    """One running service for all trials, which can be started again; a context manager."""

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(fresh_folder()))
        self.config = write_config(self._folder)

        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._service.__exit__(None, None, None)
        self._stack.close()

    def _start(self) -> None:
        self._service = RunningService(self.config).__enter__()
        self.url = self._service.url
        folder = self._folder / f"caller-{uuid4().hex}"
        folder.mkdir()
        self.caller = write_config(folder, http_bind=f'"{self.url.removeprefix("http://")}"')

    def restart(self) -> None:
        """Stop the service, and start it on the same data."""
        self._service.__exit__(None, None, None)
        self._start()


@dataclass
class Told:
    """What a step was answered with: a status, and JSON; of an error its text and fields."""

    status: int = 200
    body: Any = None

    @property
    def text(self) -> str:
        return json.dumps(self.body, ensure_ascii=False, default=str)


def played(stage: Stage, trial: Trial) -> list[str]:
    """Play a trial; return why its checks do not hold."""
    player = Player(stage, trial["interface"])
    try:
        for step in trial["steps"]:
            player.play(step)
        return [fault for check in trial["expect"] if (fault := player.fault_of(check)) is not None]
    except (ServiceError, LookupError, ValueError, TypeError, AttributeError, httpx.HTTPError) as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        return [f"{type(error).__name__} at {where.name}:{where.lineno}: {str(error)[:300]}"]


@dataclass
class Player:
    """Plays the steps of one trial over its interface; what that does not have is done in Python."""

    stage: Stage
    interface: str
    mark: str = field(default_factory=lambda: uuid4().hex[:10])
    told: dict[str, Told] = field(default_factory=dict)
    last: Told = field(default_factory=Told)
    conversations: dict[tuple[str, str], str] = field(default_factory=dict)

    def play(self, step: Step) -> None:
        """Do one step."""
        verb: Callable[[Step], Any] = getattr(self, f"_{step['do']}")
        try:
            answer = verb(step)
            told = answer if isinstance(answer, Told) else Told(200, _plain(answer))
        except ServiceError as error:
            told = Told(
                _status_of(error),
                {"error": error.error_code, "message": error.message, "fields": error.fields},
            )
        except (ValueError, TypeError) as error:
            told = Told(400, {"error": type(error).__name__, "message": str(error)})
        self.last = told
        if "as" in step:
            self.told[step["as"]] = told

    # Who, and by which client

    def _name(self, name: str | None) -> str | None:
        return None if name is None else f"{name}-{self.mark}"

    def _whose(self, step: Step) -> dict[str, Any]:
        return {"user_id": self._name(step.get("user")), "agent_id": self._name(step.get("agent"))}

    @contextmanager
    def _memory(self) -> Iterator[Memory]:
        with Memory(self.stage.url, tenant_id=TENANT) as memory:
            yield memory

    @contextmanager
    def _client(self, user: str | None = None) -> Iterator[Client]:
        token = {} if user is None else {"token": user}
        with Client(self.stage.url, tenant_id=TENANT, headers={"X-Client-ID": DESK}, **token) as client:
            yield client

    def _post(self, path: str, body: Mapping[str, Any]) -> Told:
        given = {name: value for name, value in body.items() if value is not None}
        content = json.dumps({"tenant_id": TENANT, **given}).encode()
        headers = {"content-type": "application/json"}
        answer = httpx.post(f"{self.stage.url}{path}", content=content, headers=headers, timeout=60)
        return Told(answer.status_code, answer.json() if answer.content else None)

    def _tool(self, name: str, arguments: Mapping[str, Any]) -> Told:
        async def call() -> Told:
            from mcp import Client as McpClient

            from elf.mcp.api import client_of_address
            from tests.fronts.mcp_kit import address_of, config_with, text_of

            from elf.memory.manifest import MEMORY  # isort: skip
            from elf.mcp.sessions import memory_server  # isort: skip

            async with client_of_address(address_of(self.stage)) as http:  # type: ignore[arg-type]
                server = memory_server(config_with(tenant_id=TENANT), http, MEMORY)
                async with McpClient(server) as client:
                    result = await client.call_tool(name, dict(arguments))
                    body = json.loads(text_of(result))
                    return Told(_status_of_code(body["error_code"]) if result.is_error else 200, body)

        return anyio.run(call)

    def _command(self, family: type[Any], *arguments: str) -> Told:
        out, err = io.StringIO(), io.StringIO()
        command = [family.name, *arguments, "-c", str(self.stage.caller), "--tenant", TENANT, "--json"]
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = elf_main(command, [family])
        if code:
            return Told(400, {"error": "command", "message": err.getvalue()})
        return Told(200, json.loads(out.getvalue() or "null"))

    # Remembering and recalling

    def _remember(self, step: Step) -> Any:
        messages = [step["text"]] if "text" in step else step["messages"]
        shaped = [{"content": one} if isinstance(one, str) else one for one in messages]
        whose, conversation = self._whose(step), step.get("conversation")
        body = {**whose, "messages": shaped, "conversation": conversation, "strict": step.get("strict")}
        match self.interface:
            case "http":
                told = self._post("/v1/remember", {**body, "wait_ms": WAIT_MS})
            case "mcp":
                given = {**body, **step.get("arguments", {}), "wait_ms": WAIT_MS}
                told = self._tool(
                    "remember", {k: v for k, v in given.items() if v is not None or k == "dry_run"}
                )
            case "cli":
                options = [*_options(whose | {"conversation": conversation}), "--wait-ms", str(WAIT_MS)]
                options += ["--strict"] if step.get("strict") else []
                told = self._command(MemoriesClient, "remember", *map(json.dumps, shaped), *options)
            case "llamaindex":
                told = self._into_block(shaped, step)
            case _:
                with self._memory() as memory:
                    answer = memory.remember(shaped, **whose, conversation=conversation, **_strict(step))
                told = Told(200, _plain(answer))
        self._learn(step, told)
        return told

    def _learn(self, step: Step, told: Told) -> None:
        """Note the id of the conversation that was spoken in, by which it is deleted."""
        user, name = step.get("user"), step.get("conversation")
        if user is None or name is None or not isinstance(told.body, dict):
            return
        for family in told.body.get("families", []):
            for written in family["written"] if family["family"] == "conversations" else []:
                with self._client() as client:
                    item = client.memories.item(
                        "conversations", "entry", str(written["id"]), user_id=self._name(user)
                    )
                id = next(n for n in item.provenance if n.startswith("conversation:")).partition(":")[2]
                self.conversations[user, name] = id
                return

    def _into_block(self, messages: Sequence[Mapping[str, Any]], step: Step) -> Told:
        from llama_index.core.base.llms.types import ChatMessage

        from elf.llama_index import ElfMemoryBlock

        chat = [ChatMessage(role=one.get("role", "user"), content=one.get("content")) for one in messages]
        with self._client(self._name(step.get("user"))) as client:
            scoped = self._scoped(client, step)
            anyio.run(ElfMemoryBlock(scoped, scope="project_shared").aput, chat)
        return Told(200, {})

    def _scoped(self, client: Client, step: Step) -> Client:
        agent = self._name(step.get("agent")) or DESK
        return client.within(
            project_id=self._name(step.get("user")), agent_id=agent, read_profile="all_scopes"
        )

    def _recall(self, step: Step) -> Any:
        whose = self._whose(step)
        given = {**whose, "query": step["query"], **({"top_k": step["top_k"]} if "top_k" in step else {})}
        match self.interface:
            case "http":
                return self._post("/v1/recall", given)
            case "mcp":
                return self._tool(
                    "recall", {**{k: v for k, v in given.items() if v is not None or k == "top_k"}}
                )
            case "cli":
                top = _options({"top_k": step.get("top_k")})
                return self._command(MemoriesClient, "recall", step["query"], *_options(whose), *top)
            case "llamaindex":
                return self._from_block(step)
        with self._memory() as memory:
            return memory.recall(step["query"], **whose, top_k=step.get("top_k"))

    def _from_block(self, step: Step) -> Told:
        from llama_index.core.base.llms.types import ChatMessage

        from elf.llama_index import ElfMemoryBlock

        with self._client(self._name(step.get("user"))) as client:
            scoped = self._scoped(client, step)
            chat = [ChatMessage(role="user", content=step["query"])]
            text = anyio.run(ElfMemoryBlock(scoped, scope="project_shared").aget, chat)
        return Told(200, {"items": [{"text": line.removeprefix("- ")} for line in text.splitlines()]})

    def _context(self, step: Step) -> Any:
        if self.interface == "http":
            return self._post("/v1/context", {**self._whose(step), "query": step["query"]})
        if self.interface == "mcp":
            return self._tool(
                "recall", {k: v for k, v in self._whose(step).items() if v} | {"query": step["query"]}
            )
        with self._memory() as memory:
            return memory.context(step["query"], **self._whose(step))

    def _remember_context(self, step: Step) -> Any:
        with self._memory() as memory:
            text = memory.context(step["query"], **self._whose(step)).text
        whole = f"{step.get('before', '')}{text}{step.get('after', '')}"
        message = {"role": step.get("role", "user"), "content": whole}
        return self._remember({**step, "messages": [message]})

    # The verbs of mem0

    def _add(self, step: Step) -> Any:
        messages = step["text"] if "text" in step else step["messages"]
        more = {"metadata": step["metadata"]} if "metadata" in step else {}
        with self._memory() as memory:
            return memory.add(
                messages,
                **self._whose(step),
                run_id=step.get("conversation"),
                infer=step.get("infer", True),
                **more,
            )

    def _ids_of(self, name: str) -> list[str]:
        found = self.told[name].body
        return [one["id"] for one in found.get("results", found.get("items", [])) if one.get("id")]

    def _owner(self, step: Step) -> dict[str, Any]:
        return {name: value for name, value in self._whose(step).items() if value is not None}

    def _get(self, step: Step) -> Any:
        with self._memory() as memory:
            found = [memory.get(id, **self._owner(step)) for id in self._ids_of(step["id_of"])]
        return found[0] if len(found) == 1 else {"results": [one for one in found if one is not None]}

    def _get_all(self, step: Step) -> Any:
        with self._memory() as memory:
            return memory.get_all(**self._owner(step), run_id=step.get("conversation"))

    def _search(self, step: Step) -> Any:
        filters = {
            name: self._name(value) if name in ("user_id", "agent_id") else value
            for name, value in step.get("filters", {}).items()
        }
        with self._memory() as memory:
            return memory.search(step["query"], **self._owner(step), filters=filters or None, limit=100)

    def _delete(self, step: Step) -> Any:
        remaining: dict[str, None] = {}
        message = ""
        with self._memory() as memory:
            for id in self._ids_of(step["id_of"]):
                if memory.get(id, **self._owner(step)) is None:
                    continue
                told = memory.delete(id, **self._owner(step), **_cascade(step))
                remaining |= dict.fromkeys(told.get("remaining", []))
                message = told["message"]
        return {"message": message, "remaining": list(remaining)}

    def _delete_all(self, step: Step) -> Any:
        with self._memory() as memory:
            return memory.delete_all(**self._owner(step), run_id=step.get("conversation"), **_cascade(step))

    def _forget(self, step: Step) -> Any:
        whose = self._whose(step)
        with self._memory() as memory:
            if "conversation" in step:
                id = self.conversations[step["user"], step["conversation"]]
                return memory.forget(f"conversations/conversation/{id}", **whose, **_cascade(step))
            shown = memory.forget(query=step["query"], **whose)
            meant = [one for one in shown.candidates if one.family != "conversations"]
            if not meant:
                return shown
            return memory.forget(meant, handle=shown.handle, **whose, **_cascade(step))

    # Families

    def _store_put(self, step: Step) -> Any:
        user = self._name(step.get("user", "store"))
        if self.interface == "http":
            body = {name: step[name] for name in ("namespace", "key", "value")}
            return self._post("/v1/store/put", body | {"user_id": user})
        if self.interface == "langgraph":
            return self._elf_store(
                user, lambda store: store.put(tuple(step["namespace"]), step["key"], step["value"])
            )
        if self.interface == "cli":
            value = json.dumps(step["value"])
            return self._command(
                StoreClient, "put", *step["namespace"], step["key"], value, *_options({"user_id": user})
            )
        with self._client() as client:
            return client.store.put(step["namespace"], step["key"], step["value"], user_id=user)

    def _store_search(self, step: Step) -> Any:
        user = self._name(step.get("user", "store"))
        body = {"namespace": step["namespace"], "filter": step.get("filter", {}), "user_id": user}
        if self.interface == "http":
            return self._post("/v1/store/search", body)
        if self.interface == "langgraph":
            found = self._elf_store(
                user, lambda store: store.search(tuple(step["namespace"]), filter=step.get("filter"))
            )
            return {"items": [{"key": one.key, "value": one.value} for one in found]}
        with self._client() as client:
            return client.store.search(**body)

    def _elf_store(self, user: str | None, do: Callable[[Any], Any]) -> Any:
        from elf.langgraph import ElfStore

        with self._client() as client:
            return do(ElfStore(client, user_id=user))

    def _knowledge_fact(self, step: Step) -> Any:
        fact = {name: step[name] for name in ("subject", "predicate", "content")}
        agent = self._name(step.get("agent"))
        if self.interface == "http":
            return self._post("/v1/knowledge/facts", {**fact, "source_butler": agent})
        with self._client() as client:
            return client.knowledge.store_fact(*fact.values(), source_butler=agent)

    def _assistant_memory(self, step: Step) -> Any:
        tags = [step["subject"]] if "subject" in step else []
        body = {"text": step["content"], "category": step.get("category", "preferences"), "tags": tags}
        user = self._name(step["user"])
        if self.interface == "http":
            return self._post("/v1/assistant/memories", {**body, "user_id": user})
        with self._client() as client:
            return client.assistant.add(body["text"], body["category"], tags=tags, user_id=user)

    def _graph_memory(self, step: Step) -> Told:
        memory = {
            "type": "Fact", "importance": 50, "content": step["content"], "confidence": 1.0,
            "source": {"sourceType": "manual", "capturedBy": "user"},
        }  # fmt: skip
        titled = {"summary": step["title"]} if "title" in step else {}
        body = {"orchestrator_id": self._name(step["orchestrator"]), "memories": [memory | titled]}
        return self._post("/v1/graph/memories", body)

    # Adapters

    def _session_add(self, step: Step) -> Any:
        items = [{"role": "user", "content": one} if isinstance(one, str) else one for one in step["items"]]

        async def add() -> None:
            async with self._speaking() as client:
                if self.interface == "pydantic_ai":
                    await _save(client, step["session"], items)
                else:
                    from elf.openai_agents import ElfSession

                    await ElfSession(step["session"], client).add_items(items)

        anyio.run(add)
        return {}

    def _session_get(self, step: Step) -> Any:
        async def read() -> Any:
            async with self._speaking() as client:
                if self.interface == "pydantic_ai":
                    return await _load(client, step["session"])
                from elf.openai_agents import ElfSession

                return await ElfSession(step["session"], client).get_items()

        return {"items": anyio.run(read)}

    def _speaking(self) -> AsyncClient:
        return AsyncClient(
            self.stage.url, tenant_id=TENANT, headers={"X-Client-ID": DESK}, token=self._name("speaker")
        )

    def _checkpoint(self, step: Step) -> Any:
        from langgraph.checkpoint.base import empty_checkpoint

        from elf.langgraph import ElfSaver

        state = _of_subclasses(step["state"], step.get("subclasses", []))
        checkpoint = empty_checkpoint()
        checkpoint["channel_values"] = state
        versions: dict[str, str | int | float] = dict.fromkeys(state, "1")
        checkpoint["channel_versions"] = versions
        config: Any = {"configurable": {"thread_id": step["thread"], "checkpoint_ns": ""}}
        with self._client() as client:
            ElfSaver(client, user_id=self._name("graph")).put(config, checkpoint, {"step": 1}, versions)
        return {}

    def _load_checkpoint(self, step: Step) -> Any:
        from elf.langgraph import ElfSaver

        with self._client() as client:
            found = ElfSaver(client, user_id=self._name("graph")).get_tuple(
                {"configurable": {"thread_id": step["thread"]}}
            )
        return None if found is None else found.checkpoint["channel_values"]

    def _restart(self, _: Step) -> None:
        self.stage.restart()

    # Checks

    def fault_of(self, check: Mapping[str, Any]) -> str | None:
        """Return why a check does not hold; None where it does. Raises KeyError for one that there is not."""
        told = self.told[check["of"]] if "of" in check else self.last
        kind, wanted = next(
            (name, value) for name, value in check.items() if name not in ("of", "is", "user")
        )
        if kind in ("stored", "not_stored"):
            known = self._known(wanted, check["user"], with_entries=kind == "stored")
            holds = any(_same(text, wanted) for text in known) == (kind == "stored")
            seen = json.dumps(known)
        else:
            holds, seen = CHECKS[kind](told, wanted, check), f"{told.status} {told.text}"
        return None if holds else f"{kind} {wanted!r} of {check.get('of', 'the last step')}: {seen[:300]}"

    def _known(self, query: str, user: str, *, with_entries: bool) -> list[str]:
        with self._client() as client:
            found = client.memories.recall(query[:1000], user_id=self._name(user), top_k=100)
            return [one.text for one in found.items if with_entries or one.family != "conversations"]


def _cascade(step: Step) -> dict[str, Any]:
    return {"cascade": step["cascade"]} if "cascade" in step else {}


def _strict(step: Step) -> dict[str, Any]:
    return {"strict": step["strict"]} if "strict" in step else {}


def _options(given: Mapping[str, Any]) -> list[str]:
    return [
        part
        for name, value in given.items()
        if value is not None
        for part in (f"--{name.replace('_', '-')}", str(value))
    ]


def _plain(answer: Any) -> Any:
    try:
        return msgspec.to_builtins(answer)
    except TypeError:
        return answer


def _status_of(error: ServiceError) -> int:
    return int(getattr(error, "status", 400) or 400)


def _status_of_code(code: str) -> int:
    known = {
        "NOT_FOUND": 404,
        "CONFLICT": 409,
        "SCOPE_DENIED": 403,
        "FORBIDDEN": 403,
        "NON_ENGLISH_INPUT": 422,
    }
    return known.get(code, 400)


def _items(body: Any) -> list[Any]:
    if isinstance(body, list):
        return body
    if not isinstance(body, dict):
        return []
    for name in ("results", "items", "candidates", "families"):
        if isinstance(body.get(name), list):
            found = body[name]
            return [one for family in found for one in family["written"]] if name == "families" else found
    return [body] if "memory" in body else []


def _texts(told: Told) -> list[Any]:
    return [
        one.get("text", one.get("memory", one.get("content", one))) if isinstance(one, dict) else one
        for one in _items(told.body)
    ]


def _readable(told: Told) -> str:
    """Return all that an answer says: as JSON, and its texts as they are."""
    found: list[str] = [told.text]

    def walk(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for item in value.values():
                walk(item)
        elif isinstance(value, list | tuple):
            for item in value:
                walk(item)

    walk(told.body)
    return "\n".join(found)


def _same(text: Any, wanted: str) -> bool:
    def said(one: str) -> str:
        return LABEL.sub("", one.strip()).rstrip(".!").casefold()

    return isinstance(text, str) and said(text) == said(wanted)


def _values(body: Any, names: Sequence[str]) -> set[Any]:
    found: set[Any] = set()
    if isinstance(body, dict):
        found |= {body[name] for name in names if isinstance(body.get(name), str)}
        for item in body.values():
            found |= _values(item, names)
    elif isinstance(body, list):
        for item in body:
            found |= _values(item, names)
    return found


def _has_status(told: Told, wanted: Any) -> bool:
    if wanted == "ok":
        return told.status < 400
    if wanted == "rejected":
        return told.status >= 400 or "REJECTED" in _values(told.body, ("op", "event"))
    return bool(told.status == wanted)


def _of_subclasses(value: Any, kinds: Sequence[str], path: str = "") -> Any:
    """Return a value in which those of some types, or at some paths, are of subclasses of their types."""
    if isinstance(value, dict):
        made: Any = {
            _of_subclasses(key, [one for one in kinds if one == "key"], "key")
            if path
            else key: _of_subclasses(item, kinds, f"{path}.{key}".lstrip("."))
            for key, item in value.items()
        }
    elif isinstance(value, list):
        made = [_of_subclasses(item, kinds, f"{path}[{place}]") for place, item in enumerate(value)]
    else:
        made = value
    name = type(value).__name__
    is_meant = any(one in (name, path) or path.startswith(f"{one}.") or one == "key" == path for one in kinds)
    if not path or not is_meant or value is None or isinstance(value, bool):
        return made
    return type(f"Some{name}", (type(value),), {})(made)


def _list_of(told: Told, name: str) -> list[Any]:
    found = told.body.get(name) if isinstance(told.body, dict) else None
    return found if isinstance(found, list) else []


def _equals(told: Told, wanted: Any) -> bool:
    items = told.body.get("items") if isinstance(told.body, dict) else None
    return wanted in (told.body, items)


CHECKS: Final[Mapping[str, Callable[[Told, Any, Mapping[str, Any]], bool]]] = {
    "contains": lambda told, wanted, _: wanted in _readable(told),
    "lacks": lambda told, wanted, _: wanted not in _readable(told),
    "count": lambda told, wanted, check: sum(_same(one, wanted) for one in _texts(told)) == check["is"],
    "items": lambda told, wanted, _: len(_texts(told)) == wanted,
    "items_at_least": lambda told, wanted, _: len(_texts(told)) >= wanted,
    "status": lambda told, wanted, _: _has_status(told, wanted),
    "error_names": lambda told, wanted, _: told.status >= 400 and wanted.removeprefix("$.") in told.text,
    "reason": lambda told, wanted, _: wanted in _values(told.body, ("reason", "reason_code", "error_code")),
    "op": lambda told, wanted, _: wanted in _values(told.body, ("op", "event", "outcome")),
    "reported_as_skipped": lambda told, wanted, _: len(_list_of(told, "skipped")) == wanted,
    "remaining": lambda told, wanted, _: bool(_list_of(told, "remaining")) == wanted,
    "equals": lambda told, wanted, _: _equals(told, wanted),
}


async def _save(client: AsyncClient, session: str, items: Sequence[Mapping[str, Any]]) -> None:
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    from elf.pydantic_ai import ElfConversationStore

    store = ElfConversationStore(client)
    conversation = await store.load(session) or Conversation(conversation_id=session)
    for item in items:
        content = str(item.get("content", item.get("output", "")))
        is_users = item.get("role", "user") == "user"
        conversation.messages.append(
            ModelRequest(parts=[UserPromptPart(content)])
            if is_users
            else ModelResponse(parts=[TextPart(content)])
        )
    await store.save(conversation)


async def _load(client: AsyncClient, session: str) -> list[dict[str, Any]]:
    from pydantic_ai.messages import ModelRequest

    from elf.pydantic_ai import ElfConversationStore

    found = await ElfConversationStore(client).load(session)
    return [
        {
            "role": "user" if isinstance(one, ModelRequest) else "assistant",
            "content": "".join(str(getattr(part, "content", "")) for part in one.parts),
        }
        for one in (found.messages if found is not None else [])
    ]


if __name__ == "__main__":
    sys.exit(main())
