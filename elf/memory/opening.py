"""Puts the one memory to work in a process, on what the families that were opened before it offer."""

from __future__ import annotations

from datetime import timedelta

from elf.db.garbage import GarbageStep
from elf.db.queries import Queries, sql_folder
from elf.family import Opened, Total, together
from elf.ground import Ground
from elf.memory.answering import Answering
from elf.memory.api.context import CONTEXT
from elf.memory.api.forgetting import FORGET
from elf.memory.api.items import READ
from elf.memory.api.recalling import EXPLAIN, RECALL
from elf.memory.asking import Asker
from elf.memory.comparing import ByReranker, ByTokens, Comparing
from elf.memory.contexts import MemoryContexts
from elf.memory.conversations import HiddenConversations
from elf.memory.erasing.opening import open_erasing
from elf.memory.finding import Finding
from elf.memory.forgetting.handles import Handles
from elf.memory.forgetting.service import Forgetting
from elf.memory.kept_tokens import KeptTokens
from elf.memory.model import FAMILY
from elf.memory.own_context import OwnContext
from elf.memory.reading import ItemReading
from elf.memory.recalling import Explaining, MemoryRecall
from elf.memory.remembering.opening import open_remembering
from elf.memory.subjects import MemorySubjects
from elf.memory.token_filler import TokenFiller
from elf.memory.traces import Traces


def open_memory(ground: Ground) -> Opened:
    """Return the one memory at work. Raises StartupError when its statements cannot be read."""
    queries = Queries.load(sql_folder() / FAMILY)
    asker = Asker(proves_users=ground.config.security.auth.mode == "required")
    subjects = MemorySubjects(ground.database, queries)
    own = OwnContext(ground.database, queries, ground.clock)
    return together(
        [
            _open_recall(ground, queries, asker, own),
            open_remembering(ground, queries, asker, own),
            open_erasing(ground, queries, subjects),
        ]
    )


def _open_recall(ground: Ground, queries: Queries, asker: Asker, own: OwnContext) -> Opened:
    config, database = ground.config, ground.database
    traces = Traces(
        database,
        queries,
        keep=timedelta(days=config.search.explain.retention_days),
        sample=config.recall.trace_sample,
    )
    version = "" if ground.search is None or ground.search.late is None else ground.search.late.version
    kept = KeptTokens(database, queries, ground.clock, version=version)
    handles = Handles(database, queries)
    garbage = [
        GarbageStep(FAMILY, "expired_memory_traces", traces.drop_expired),
        GarbageStep(FAMILY, "unused_memory_tokens", kept.drop_unused),
        GarbageStep(FAMILY, "expired_forget_handles", handles.drop_expired),
        GarbageStep(FAMILY, "expired_context_lines", own.drop_expired),
    ]
    search, texts = ground.search, ground.texts
    if search is None or texts is None:
        return Opened(garbage=garbage)
    filler = None if search.late is None else TokenFiller(search.late, kept, ground.clock)
    rules = config.search.rerank
    comparing: Comparing
    if filler is not None and search.late is not None:
        weight = 0.0 if rules is None else rules.length_weight
        comparing = ByTokens(search.late, kept, filler, length_weight=weight)
    else:
        tells = rules is not None and rules.weak_below is not None
        comparing = ByReranker(search.models.reranker, tells_relevance=tells)
    items = {name: one.items for name, one in ground.below.items() if one.items is not None}
    transcripts = (one.transcripts for one in ground.below.values() if one.transcripts is not None)
    hidden = HiddenConversations(next(transcripts, None))
    budget = config.search.budget
    finding = Finding(
        {name: one.recall for name, one in ground.below.items() if one.recall is not None},
        embedder=search.models.embedder,
        comparing=comparing,
        hidden=hidden,
        budget_s=None if budget is None else budget.total_ms / 1000,
    )
    answering = Answering(finding, asker=asker, traces=traces, clock=ground.clock, measures=search.measures)
    recall = MemoryRecall(answering, texts.tokens)
    reading = ItemReading(items, asker, hidden)
    said = ((name, one.redaction) for name, one in ground.below.items() if one.redaction is not None)
    forgetting = Forgetting(
        items, recall.recall, reading, handles, asker=asker, clock=ground.clock, said=next(said, None)
    )
    return Opened(
        handlers={
            RECALL.name: recall.recall,
            CONTEXT.name: MemoryContexts(answering, texts.tokens, own, asker).context,
            EXPLAIN.name: Explaining(asker, traces, ground.clock).explain,
            READ.name: reading.read,
            FORGET.name: forgetting.forget,
        },
        owners=[] if filler is None else [filler],
        garbage=garbage,
        totals=[
            Total(
                name="elf_recall_traces_dropped_total",
                about="Traces of answers of recall and context that could not be written.",
                read=lambda: {(): float(traces.dropped)},
            )
        ],
    )
