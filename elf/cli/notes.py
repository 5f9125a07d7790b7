"""`elf add`, `search`, `get` and `list`: one request each."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import anyio

from elf.cli import filters
from elf.cli.client import Reply, Service
from elf.cli.credentials import identity_of
from elf.cli.ids import Kind, whole_id
from elf.cli.outcome import ExitCode, UsageError
from elf.cli.terminal import terminal
from elf.cli.text import plain, print_columns, print_json
from elf.client.call import Call
from elf.client.calls import Calls
from elf.config import Config, load
from elf.config.defaults import Defaults
from elf.core.errors import InvalidRequest

Command = Callable[[argparse.Namespace], int]
Request = Callable[[Service, Config, argparse.Namespace], Awaitable[Reply]]
Show = Callable[[dict[str, Any]], None]


def add(options: argparse.Namespace) -> int:
    return run_request(options, _add, lambda body: show_results(body["results"]))


def search(options: argparse.Namespace) -> int:
    return run_request(options, _search, _show_hits)


def get(options: argparse.Namespace) -> int:
    return run_request(options, _get, _show_note)


def list_notes(options: argparse.Namespace) -> int:
    return run_request(options, _list, _show_notes)


def run_request(options: argparse.Namespace, request: Request, show: Show, *, admin: bool = False) -> int:
    """Send one request and print the answer; the exit code says whether the service did what was asked."""
    config = configured(options)

    async def ask() -> Reply:
        async with Service(config, options, admin=admin) as service:
            return await request(service, config, options)

    try:
        reply = anyio.run(ask)
    except InvalidRequest as error:  # by the client itself: an id that is none
        raise UsageError(error.message) from error
    if options.json:
        print_json(reply.body)
    else:
        show(reply.check().body)
    return max(reply.exit_code, _rejected(reply.body))


def configured(options: argparse.Namespace) -> Config:
    """Return the config, whose [defaults] stand in for flags from then on."""
    config = load(options.config)
    options.defaults = config.defaults
    identity = identity_of(options, config)
    options.bound, options.own_project = identity.bound, identity.project
    return config


def _rejected(body: Any) -> ExitCode:
    results = (body, *body.get("results", ())) if isinstance(body, dict) else body
    rejected = any(
        isinstance(result, dict) and (result.get("op") == "REJECTED" or result.get("not_given_up"))
        for result in results
    )
    return ExitCode.REJECTED if rejected else ExitCode.DONE


def context(options: argparse.Namespace) -> dict[str, str | None]:
    """Return the context of a request: what the flags say, else what [defaults] does.

    The project of who has a user is the user's own, and not that of [defaults]. A name that the caller's key or token
    binds is None where no flag says it: the service fills it in.
    """
    defaults: Defaults = options.defaults
    flags = {"tenant_id": options.tenant, "project_id": options.project, "agent_id": options.agent}
    unsaid = {**defaults.ids(), "project_id": options.own_project}
    named = {name: None if name in options.bound else value for name, value in unsaid.items()}
    return named | {name: value for name, value in flags.items() if value is not None}


def _profile(options: argparse.Namespace, config: Config) -> str | None:
    return None if "read_profile" in options.bound else config.default_profile


def calls(options: argparse.Namespace) -> Calls:
    """Return what can be asked for within the context of the flags."""
    whose = context(options)
    return Calls(whose["tenant_id"], whose["project_id"], whose["agent_id"])


async def ask_by_id(
    service: Service,
    options: argparse.Namespace,
    given: str,
    make: Callable[[Calls, str], Call[Any]],
    *,
    kind: Kind = "note",
) -> Reply:
    """Ask for something by its id, or how that begins, within the context of the flags.

    Without any of these flags: within the context of [defaults], and where it is not there, by the id alone.
    """
    id = await whole_id(service, calls(options), given, kind=kind)
    reply = await service.ask(make(calls(options), id))
    if reply.exit_code is ExitCode.REJECTED and not (options.tenant or options.project or options.agent):
        alone = await service.ask(make(Calls(), id))
        return alone if alone.exit_code is ExitCode.DONE else reply
    return reply


async def _add(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    note = {
        "type": options.type,
        "key": options.key,
        "text": options.text,
        "importance": options.importance,
        "confidence": options.confidence,
        "ttl_days": options.ttl_days,
        "source_ref": options.source_ref,
    }
    scope = options.scope or config.default_scope
    return await service.ask(calls(options).add_notes([note], scope=scope))


async def _search(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    within = replace(calls(options), read_profile=options.profile or _profile(options, config))
    asked = within.search(
        options.query, top_k=options.top_k, min_relevance=options.min_relevance, **filters.given(options)
    )
    return await service.ask(asked)


async def _get(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    return await ask_by_id(service, options, options.id, Calls.get)


async def _list(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    # Without a read profile and a scope, the service lists all but the private notes.
    within = replace(calls(options), read_profile=None if options.shared else _profile(options, config))
    notes = within.list_notes(
        scope=options.scope,
        type=options.type,
        status=options.status,
        key_prefix=options.key_prefix,
        updated_since=options.since,
        updated_before=options.until,
        limit=options.limit,
    )
    return await service.ask(notes.at(options.cursor))


def show_results(results: Sequence[dict[str, Any]]) -> None:
    """Print what became of notes, one a line."""
    if (console := terminal()) is not None:
        from elf.cli.screens.notes import outcomes

        console.print(outcomes([(result, [*reasons(result), *similar_to(result)]) for result in results]))
        return
    for result in results:
        print("  ".join([result["op"], plain(result["note_id"]), *reasons(result), *similar_to(result)]))


def reasons(result: dict[str, Any]) -> list[str]:
    """Say why a note was rejected, or what else there is to say of its write."""
    return [plain(result[name]) for name in ("reason_code", "reason") if result.get(name)]


def similar_to(result: dict[str, Any]) -> list[str]:
    """Say which note a new one looks like without saying the same, when there is one."""
    return [f"similar to {plain(result['similar_to'])}"] if result.get("similar_to") else []


def _show_hits(body: dict[str, Any]) -> None:
    if body.get("degraded"):
        print(f"elf: answered without {', '.join(map(plain, body['degraded']))}", file=sys.stderr)
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    if body["weak_match"]:
        print("elf: weak match: perhaps nothing here answers the query", file=sys.stderr)
    if (console := terminal()) is not None:
        from elf.cli.screens.notes import hits

        console.print(hits(body["items"]))
    else:
        _print_hits(body["items"])


def _print_hits(items: Sequence[dict[str, Any]]) -> None:
    for rank, item in enumerate(items, start=1):
        print(f"{rank:>3}  {item['final_score']:.4f}  {plain(item['snippet'])}")
        note = f"{plain(item['key'])}  {item['type']}  {plain(item['scope'])}  {item['note_id']}"
        relevance = "-" if item["relevance"] is None else f"{item['relevance']:.4f}"
        print(f"             {note}  handle {item['result_handle']}  relevance {relevance}")


def _show_note(body: dict[str, Any]) -> None:
    if (console := terminal()) is not None:
        from elf.cli.screens.notes import note

        console.print(note(body))
    else:
        print_columns(body.items())


def _show_notes(body: dict[str, Any]) -> None:
    columns = ("note_id", "type", "scope", "key", "text")
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
    elif (console := terminal()) is not None:
        from elf.cli.screens.notes import notes

        console.print(notes(body["items"]))
    else:
        print_columns([[note[column] for column in columns] for note in body["items"]])
    say_more(body)


def say_more(body: dict[str, Any]) -> None:
    """Say how to go on with a list that has not ended."""
    if body["next_cursor"]:
        print(f"elf: there are more; continue with --cursor {body['next_cursor']}", file=sys.stderr)
