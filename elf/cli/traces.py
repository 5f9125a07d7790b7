"""`elf explain` and `elf traces`: what searches did, and why their results are what they are."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

from elf.cli.client import Reply, Service
from elf.cli.ids import whole_id
from elf.cli.notes import ask_by_id, calls, run_request, say_more
from elf.cli.terminal import terminal
from elf.cli.text import plain, print_columns
from elf.client.calls import Calls
from elf.config import Config


def explain(options: argparse.Namespace) -> int:
    """Explain one result."""
    return run_request(options, _explain, _show_explanation)


def traces(options: argparse.Namespace) -> int:
    """List an agent's searches, or show one of them whole."""
    if options.id is None:
        return run_request(options, _list, _show_searches)
    return run_request(options, _get, _show_trace)


async def _explain(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    return await ask_by_id(service, options, options.handle, Calls.explain, kind="result")


async def _list(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    return await service.ask(calls(options).traces(limit=options.limit).at(options.cursor))


async def _get(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    within = calls(options)
    return await service.ask(within.trace(await whole_id(service, within, options.id, kind="search")))


def _show_explanation(body: dict[str, Any]) -> None:
    if (console := terminal()) is not None:
        from elf.cli.screens.traces import explanation

        console.print(explanation(body))
    else:
        _print_explanation(body)
    _say_degraded(body["trace"])


def _print_explanation(body: dict[str, Any]) -> None:
    item, trace = body["item"], body["trace"]
    results = sorted([item, *body["other_items"]], key=lambda result: int(result["rank"]))
    print(f"rank {item['rank']} of {len(results)} for: {plain(trace['query'])}")
    _show_item(item, candidates=trace["candidate_count"])
    print("\nresults")
    _show_results(results, marked=item)
    _show_dropped(body["dropped"])
    _show_search(trace)


def _show_trace(body: dict[str, Any]) -> None:
    if (console := terminal()) is not None:
        from elf.cli.screens import traces

        console.print(traces.trace(body))
    else:
        _print_trace(body)
    _say_degraded(body["trace"])


def _print_trace(body: dict[str, Any]) -> None:
    print(f"{len(body['items'])} results for: {plain(body['trace']['query'])}")
    _show_results(body["items"], marked=None)
    _show_dropped(body["dropped"])
    _show_search(body["trace"])


def _show_searches(body: dict[str, Any]) -> None:
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
    elif (console := terminal()) is not None:
        from elf.cli.screens.traces import searches

        console.print(searches(body["items"]))
    else:
        print_columns(
            [search["trace_id"], search["created_at"], f"{search['result_count']} results", _without(search),
             search["query"]]
            for search in body["items"]
        )  # fmt: skip
    say_more(body)


def _show_item(item: dict[str, Any], *, candidates: int) -> None:
    why = item["explain"]
    print_columns([
        ("note", item["note_id"]),
        ("text", item["text"]),
        ("chunk", item["chunk_id"]),
        ("words", _words(why)),
    ])  # fmt: skip
    print(
        f"found  number {plain(why['retrieval_rank'])} of {candidates} candidates, {_found(why)}, {_relevance(item)}"
    )
    print(f"score  {_score(why['final_score'])}, of which")
    print_columns([(f"  {boost['name']}", _score(boost["score"])) for boost in why["boosts"]])


def _found(why: dict[str, Any]) -> str:
    return f"fused score {_score(why['retrieval_score'])}, reranked {_score(why['rerank_score'])}"


def _relevance(result: dict[str, Any]) -> str:
    return f"relevance {_score(result['relevance'])}"


def _show_results(results: Sequence[dict[str, Any]], *, marked: dict[str, Any] | None) -> None:
    print_columns(
        [
            ("> " if result is marked else "  ") + f"{result['rank']:>3}",
            _score(result["explain"]["final_score"]),
            _relevance(result),
            f"note {result['note_id']}",
            f"handle {result['result_handle']}",
            _words(result["explain"]),
            result["text"],
        ]
        for result in results
    )


def _show_dropped(dropped: Sequence[dict[str, Any]]) -> None:
    if not dropped:
        return
    print("\nnot among them")
    print_columns(
        [f"  {candidate['stage']}", f"note {candidate['note_id']}", candidate["reason"], candidate["text"]]
        for candidate in dropped
    )


def _show_search(trace: dict[str, Any]) -> None:
    print()
    scopes, times = (
        ", ".join(trace["allowed_scopes"]),
        [f"{t['name']} {t['ms']:.1f} ms" for t in trace["stages"]],
    )
    print_columns([
        ("search", trace["trace_id"]),
        ("at", trace["created_at"]),
        ("reads", f"{trace['read_profile']}: {scopes}"),
        *([("only", json.dumps(filters, ensure_ascii=False))] if (filters := trace.get("filters")) else []),
        ("asked", "; ".join(trace["expanded_queries"])),
        ("took", ", ".join(times)),
    ])  # fmt: skip


def _say_degraded(trace: dict[str, Any]) -> None:
    if trace["degraded"]:
        print(f"elf: it was answered {_without(trace)}", file=sys.stderr)


def _words(why: dict[str, Any]) -> str:
    if not why["matched_terms"]:
        return "none of the query"
    return f"{', '.join(why['matched_terms'])} (in {', '.join(why['matched_fields'])})"


def _without(search: dict[str, Any]) -> str:
    return f"without {', '.join(search['degraded'])}" if search["degraded"] else ""


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.6f}"
