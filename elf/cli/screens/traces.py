"""Searches on a terminal: why a result is where it is, and what else there was."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from elf.cli.screens.notes import WEAK
from elf.cli.screens.pieces import (
    ago,
    blocks,
    columns,
    fields,
    moment,
    relevance,
    short,
    small_print,
    words,
)

Body = dict[str, Any]

BAR_CHARS = 30
MOST_DROPPED = 5
GONE = "(its text is gone)"


def explanation(body: Body) -> RenderableType:
    """Return why a result is where it is."""
    item, trace = body["item"], body["trace"]
    results = sorted([item, *body["other_items"]], key=lambda result: int(result["rank"]))
    headline = Text.assemble("Rank ", (str(item["rank"]), "bold"), f" of {len(results)} for ")
    return blocks(
        headline.append_text(words(trace["query"], "bold")),
        Group(
            words(item["text"] or GONE, "bold"),
            small_print(f"note {short(item['note_id'])}", f"handle {short(item['result_handle'])}"),
        ),
        fields(_reasons(item, trace["candidate_count"])),
        boosts(item["explain"]),
        titled("Results", result_table(results, marked=item)),
        dropped_table(body["dropped"]),
        search(trace),
    )


def trace(body: Body) -> RenderableType:
    """Return a whole search."""
    query = words(body["trace"]["query"], "bold")
    return blocks(
        titled(f"{len(body['items'])} results for ", result_table(body["items"], marked=None), query),
        dropped_table(body["dropped"]),
        search(body["trace"]),
    )


def searches(items: Sequence[Body]) -> Table:
    """Return a list of searches."""
    table = columns("cyan", "dim", "dim", "")
    for item in items:
        without = f"without {', '.join(item['degraded'])}" if item["degraded"] else None
        query = words(item["query"])
        table.add_row(
            short(item["trace_id"]), ago(item["created_at"]), f"{item['result_count']} results",
            Group(query, small_print(without)) if without else query,
        )  # fmt: skip
    return table


def titled(title: str, content: RenderableType, subject: Text | None = None) -> Group:
    """Return a part of the screen under its title."""
    return Group(Text(title, style="dim").append_text(subject or Text()), content)


def boosts(why: Body) -> Table:
    """Return the terms of a score, each with its share as a bar."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim")
    table.add_column(justify="right")
    table.add_column(style="green", no_wrap=True)
    table.add_row("score", Text(f"{why['final_score']:.4f}", style="bold"), "")
    longest = max((abs(boost["score"]) for boost in why["boosts"]), default=0.0) or 1.0
    for boost in why["boosts"]:
        bar = "\N{BLACK RECTANGLE}" * round(BAR_CHARS * abs(boost["score"]) / longest)
        style = "red" if boost["score"] < 0 else ""
        table.add_row(
            f"  {boost['name']}", Text(f"{boost['score']:+.4f}", style=style), Text(bar, style=style)
        )
    return table


def result_table(results: Sequence[Body], *, marked: Body | None) -> Table:
    """Return results by rank, each with its text; the marked one stands out."""
    table = columns("bold green", "dim", "", "cyan", "")
    best = max((float(result["explain"]["final_score"]) for result in results), default=0.0)
    for result in results:
        why = result["explain"]
        weak = "dim" if why["final_score"] < WEAK * best else ""
        text = words(result["text"] or GONE, "bold" if result is marked else weak)
        found = f"words: {', '.join(why['matched_terms'])}" if why["matched_terms"] else None
        about = small_print(f"handle {short(result['result_handle'])}", relevance(result), found)
        table.add_row(
            ">" if result is marked else " ", f"{result['rank']:>2}", f"{why['final_score']:.3f}",
            short(result["note_id"]), Group(text, about),
        )  # fmt: skip
    return table


def dropped_table(dropped: Sequence[Body]) -> RenderableType | None:
    """Return the candidates that are no results, those nearest to one first, each with why it was dropped."""
    if not dropped:
        return None
    table = columns("dim", "cyan", "")
    for candidate in sorted(dropped, key=_distance)[:MOST_DROPPED]:
        text = words(candidate["text"] or GONE)
        table.add_row(
            candidate["stage"], short(candidate["note_id"]), Group(text, small_print(candidate["reason"]))
        )
    if len(dropped) > MOST_DROPPED:
        rest = f"and {len(dropped) - MOST_DROPPED} more, which are shown in a pipe, such as | less"
        table.add_row("", "", Text(rest, style="dim"))
    return titled(f"Not among them: {len(dropped)} candidates", table)


def _distance(candidate: Body) -> float:
    score = candidate["final_score"]
    return math.inf if score is None else -float(score)  # who has a score came further than who has none


def search(trace: Body) -> Table:
    """Return how a search was carried out."""
    times = ", ".join(f"{stage['name']} {stage['ms']:.1f} ms" for stage in trace["stages"])
    filters = trace.get("filters")
    return fields([
        ("search", trace["trace_id"]),
        ("at", moment(trace["created_at"])),
        ("reads", words(f"{trace['read_profile']}: {', '.join(trace['allowed_scopes'])}")),
        *([("only", words(json.dumps(filters, ensure_ascii=False)))] if filters else []),
        ("asked", words("; ".join(trace["expanded_queries"]))),
        ("took", times),
    ])  # fmt: skip


def _reasons(item: Body, candidates: int) -> list[tuple[str, RenderableType]]:
    why = item["explain"]
    place = (
        "not by itself"
        if why["retrieval_rank"] is None
        else f"number {why['retrieval_rank']} of {candidates}"
    )
    found = ", ".join(why["matched_terms"])
    return [
        ("found", f"{place} candidates, fused score {_score(why['retrieval_score'])}"),
        ("reranked", _score(why["rerank_score"])),
        ("relevance", _score(item["relevance"])),
        (
            "words",
            words(f"{found} (in {', '.join(why['matched_fields'])})" if found else "none of the query"),
        ),
    ]


def _score(score: float | None) -> str:
    return "-" if score is None else f"{score:.4f}"
