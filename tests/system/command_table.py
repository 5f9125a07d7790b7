"""Every command of `elf` with its ordinary arguments.

`{n}` is 1 and 2 in the two runs of a command, without and with --json. What a run with --json answers may be kept under
a name: `{note1}` and `{note2}` are the ids of the two notes that `add` made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

MEMORY: Final = (
    '{"memoryId": "all{n}", "type": "Fact", "importance": 50, "content": "The yard is green {n}.", "confidence": 0.8, '
    '"source": {"sourceType": "manual", "capturedBy": "user"}}'
)
LINK: Final = (
    '{"edgeId": "e{n}", "fromMemoryId": "all{n}", "toMemoryId": "m1", '
    '"edgeType": "Contradicts", "weight": 0.5}'
)
NOT_THERE: Final = "019f0000-0000-7000-8000-000000000000"


@dataclass(frozen=True, slots=True)
class Row:
    """A command, its arguments, with what code it ends, and under what name which part of its answer is kept."""

    command: str
    arguments: tuple[str, ...] = ()
    code: int = 0
    keeps: Mapping[str, str] = field(default_factory=dict)
    needs_service: bool = True
    is_soon: bool = False
    """Whether it is about what is stored behind the answer of another command."""


def _row(
    command: str,
    *arguments: str,
    code: int = 0,
    needs_service: bool = True,
    is_soon: bool = False,
    **keeps: str,
) -> Row:
    return Row(command, arguments, code, keeps, needs_service, is_soon)


ROWS: Final = (
    _row("check", needs_service=False),
    _row("completion", "bash", needs_service=False),
    _row("init", "{folder}/made{n}.toml", needs_service=False),
    _row("model list", needs_service=False),
    _row("model fetch", "{model}", needs_service=False),
    _row("key new", "program{n}", needs_service=False),
    _row("mcp install", "--client", "claude-code", "--print", needs_service=False),
    _row("status"),
    _row("add", "The office is in Lisbon {n}.", note="results.0.note_id"),
    _row("add-event", "{folder}/messages.json"),
    _row("search", "Where is the office?", handle="items.0.result_handle"),
    _row("explain", "{handle}", is_soon=True),
    _row("traces"),
    _row("get", "{note1}"),
    _row("update", "{note{n}}", "--text", "The office is in Porto {n}."),
    _row("list"),
    _row("delete", "{note{n}}"),
    _row("history", "{note1}", version="items.0.version_id"),
    _row("restore", "{note{n}}"),
    _row("export", "{folder}/notes{n}.jsonl"),
    _row("import", "{folder}/notes1.jsonl"),
    _row("forget", "--project", "nowhere", "--yes"),
    _row("gc"),
    _row("drift"),
    _row("rebuild"),
    _row("admin jobs list"),
    _row("admin jobs retry", "indexing", NOT_THERE, code=1),
    _row("admin jobs discard", "indexing", NOT_THERE, code=1),
    _row("admin audit"),
    # knowledge
    _row("knowledge store-episode", "Ana moved to Porto {n}.", "butler", episode="id"),
    _row("knowledge store-episodes", '{"content": "Ben moved to Faro {n}.", "butler": "butler"}'),
    _row("knowledge store-fact", "Ana", "lives in {n}", "Porto", fact="id"),
    _row("knowledge store-facts", '{"subject": "Ben", "predicate": "lives in {n}", "content": "Faro"}'),
    _row("knowledge store-rule", "Answer in short sentences {n}.", rule="id"),
    _row("knowledge store-rules", '{"content": "Never shout {n}."}'),
    _row("knowledge link", "fact", "{fact1}", "related_to", "fact", "{fact2}"),
    _row("knowledge confirm", "fact", "{fact1}"),
    _row("knowledge mark-helpful", "{rule1}"),
    _row("knowledge mark-harmful", "{rule1}"),
    _row("knowledge search", "Where does Ana live?", khandle="items.0.result_handle"),
    _row("knowledge recall", "Ana"),
    _row("knowledge context", "Where does Ana live?", "butler"),
    _row("knowledge explain", "{khandle}", is_soon=True),
    _row("knowledge traces"),
    _row("knowledge stats"),
    _row("knowledge get", "fact", "{fact1}"),
    _row("knowledge history", "fact", "{fact1}"),
    _row("knowledge links", "fact", "{fact1}"),
    _row("knowledge episodes"),
    _row("knowledge facts"),
    _row("knowledge rules"),
    _row("knowledge create-entity", "Ana {n}", "person", entity="entity_id"),
    _row("knowledge get-entity", "{entity1}"),
    _row("knowledge update-entity", "{entity1}", "--canonical-name", "Ana of Porto {n}"),
    _row("knowledge resolve-entity", "Ana 2"),
    _row("knowledge entities"),
    _row("knowledge merge-entities", "{entity{n}}", "{entity3}"),
    _row("knowledge events"),
    _row("knowledge run-consolidation"),
    _row("knowledge run-episode-cleanup"),
    _row("knowledge decay-sweep"),
    _row("knowledge consolidate"),
    _row("knowledge clean-up"),
    _row("knowledge requeue"),
    _row("knowledge dead-letters"),
    _row("knowledge reembed", "--dry-run"),
    _row("knowledge schedules"),
    _row("knowledge share", "fact", "{fact1}"),
    _row("knowledge forget", "fact", "{fact1}"),
    _row("knowledge erase-memory", "fact", "{fact{n}}"),
    _row("knowledge erase-entity", "{entity{n}}"),
    # conversations
    _row("conversations create", "--title", "Moving {n}", talk="id"),
    _row("conversations list"),
    _row("conversations show", "{talk1}"),
    _row("conversations rename", "{talk1}", "Moved {n}"),
    _row("conversations append", "{talk1}", '{"role": "USER", "text": "Ana moves {n}."}', entry="id"),
    _row("conversations entries", "{talk1}", said="data.0.id"),
    _row("conversations sync", "{talk1}", '{"text": "known {n}"}', code=1),
    _row("conversations context", "{talk1}"),
    _row(
        "conversations index", '{"conversationId": "{talk1}", "entryId": "{said1}", "indexedContent": "Ana"}'
    ),
    _row("conversations unindexed"),
    _row("conversations fork", "{talk1}", "{said1}"),
    _row("conversations forks", "{talk1}"),
    _row("conversations cancel-response", "{talk1}"),
    _row(
        "conversations write-session",
        "session{n}",
        "--new-entries",
        '{"content": [{"text": "Hi {n}"}], "key": "hi{n}"}',
        code=1,  # as those after it: a session is written by a client, which only a key says
    ),
    _row("conversations sessions"),
    _row("conversations session", "session{n}", code=1),
    _row("conversations session-line", "hi{n}", code=1),
    _row("conversations delete-session", "session{n}", code=1),
    _row("conversations share", "{talk{n}}", "ben", "reader"),
    _row("conversations memberships", "{talk1}"),
    _row("conversations change-membership", "{talk{n}}", "ben", "writer"),
    _row("conversations transfer", "{talk{n}}", "ben"),
    _row("conversations transfers", transfer="data.{k}.id"),
    _row("conversations show-transfer", "{transfer{n}}"),
    _row("conversations accept-transfer", "{transfer{n}}", code=1),
    _row("conversations end-transfer", "{transfer{n}}"),
    _row("conversations remove-membership", "{talk{n}}", "ben"),
    _row("conversations search", "Ana"),
    _row("conversations admin-list"),
    _row("conversations admin-show", "{talk1}"),
    _row("conversations admin-entries", "{talk1}"),
    _row("conversations admin-memberships", "{talk1}"),
    _row("conversations admin-forks", "{talk1}"),
    _row("conversations admin-search", "Ana"),
    _row("conversations delete", "{talk{n}}"),
    _row("conversations admin-restore", "{talk{n}}"),
    _row("conversations admin-delete", "{talk{n}}"),
    _row("conversations evict", "P90D"),
    _row("conversations evict-all", "P90D"),
    # graph
    _row("graph remember", "My favourite colour is red {n}.", "Preference", "--memory-id", "m{n}"),
    _row("graph remember-all", MEMORY),
    _row("graph link", LINK),
    _row("graph recall", "favourite colour"),
    _row("graph bulletin", "msg-{n}", "favourite colour"),
    _row("graph context", "diagnostics", "--prompt", "colour"),
    _row("graph update", "m1", "--importance", "6{n}"),
    _row("graph show", "m1"),
    _row("graph list"),
    _row("graph history", "m1"),
    _row("graph edges", "m1"),
    _row("graph contradictions"),
    _row("graph resolve", "e{n}", "Ana said so.", "--both-true"),
    _row("graph supersede", "all{n}", "--by-memory-id", "m2"),
    _row("graph retract", "m1"),
    _row("graph restore", "m1"),
    _row("graph write-transcript", "message{n}", "talk", "Hello."),
    _row("graph write-output", "run{n}", "step", '{"decision": "Use SQLite."}'),
    _row("graph write-diagnostics", "finding{n}", "The disk is full."),
    _row("graph ingest"),
    _row("graph ingested"),
    _row("graph status"),
    _row("graph orchestrators"),
    _row("graph share", "m1"),
    _row("graph export", "{folder}/graph{n}.jsonl"),
    _row("graph import", "{folder}/graph1.jsonl"),
    _row("graph recover"),
    _row("graph erase", "--memory-ids", "m{n}"),
    # assistant
    _row("assistant add", "Ana likes tea {n}.", "preference", amemory="memory.id"),
    _row("assistant add-procedure", "--steps", "Boil water {n}.", "--steps", "Pour it."),
    _row("assistant turn", "thread{n}", "turn", '{"role": "user", "content": "I like tea."}'),
    _row("assistant decide", NOT_THERE, "approve", code=1),
    _row("assistant query", "tea", "--agent", "supervisor"),
    _row("assistant query-full", "tea", "--agent", "supervisor"),
    _row("assistant save-thread-checkpoint", "thread{n}", '{"step": 1}'),
    _row("assistant thread-checkpoint", "thread1"),
    _row("assistant copy-thread", "thread1", "copy{n}"),
    _row("assistant prune", "copy{n}"),
    _row("assistant redact-checkpoints"),
    _row("assistant delete-checkpoints", "--thread-ids", "copy{n}"),
    _row("assistant update", "{amemory1}", "--text", "Ana likes green tea {n}."),
    _row("assistant pin", "{amemory1}"),
    _row("assistant show", "{amemory1}"),
    _row("assistant list"),
    _row("assistant history", "{amemory1}"),
    _row("assistant all-history"),
    _row("assistant user-context"),
    _row("assistant proposals"),
    _row("assistant delete", "{amemory{n}}"),
    _row("assistant restore", "{amemory{n}}"),
    _row("assistant create-file", "/memories/notes{n}.md", "Ana likes tea."),
    _row("assistant view-file", "/memories/notes1.md"),
    _row("assistant replace-in-file", "/memories/notes{n}.md", "tea", "coffee"),
    _row("assistant insert-into-file", "/memories/notes{n}.md", "0", "Title"),
    _row("assistant files"),
    _row("assistant read-file", "/memories/notes1.md"),
    _row("assistant file-versions", "/memories/notes1.md"),
    _row("assistant search-files", "coffee"),
    _row("assistant rename-file", "/memories/notes{n}.md", "/memories/new{n}.md"),
    _row("assistant delete-file", "/memories/new{n}.md"),
    _row("assistant consolidate", "--dry-run"),
    _row("assistant export-own"),
    _row("assistant export", "{folder}/assistant{n}.jsonl"),
    _row("assistant import", "{folder}/assistant1.jsonl"),
    _row("assistant erase", "user", "--name", "ben"),
    # store
    _row("store put", "users", "ana{n}", '{"likes": "tea"}'),
    _row("store get", "users", "ana{n}"),
    _row("store search", "--query", "tea"),
    _row("store namespaces"),
    _row("store batch", '{"get": {"namespace": ["users"], "key": "ana1"}}'),
    _row("store delete", "users", "ana{n}"),
    # webhooks
    _row("webhooks status"),
    _row("webhooks dead-letters", "audit", code=1),
    _row("webhooks retry", "audit", code=1),
    # all families
    _row(
        "memories remember",
        '{"role": "user", "content": "I like tea {n}."}',
        "--user-id",
        "ana",
        remembered="id",
    ),
    _row("memories remembered", "{remembered{n}}", "--user-id", "ana"),
    _row("memories recall", "tea", "--user-id", "ana", trace="trace_id"),
    _row("memories context", "tea", "--user-id", "ana"),
    _row("memories explain", "{trace2}", "--user-id", "ana", is_soon=True),
    _row("memories item", "notes", "note", NOT_THERE, code=1),
    _row("memories forget", "--query", "coffee", "--user-id", "ana"),
    _row("memories export", "{folder}/all{n}.jsonl", "--user-id", "ana"),
    _row("memories import", "{folder}/all1.jsonl"),
    _row("memories erase", "--user-id", "ben{n}", receipt="receipt_id", whole=""),
    _row("memories receipt", "{receipt{n}}", "--user-id", "ben{n}"),
    _row("memories prove", "{whole1}", "--user-id", "ben1"),
    _row("erase", "--user", "ana", "--yes", "--receipt", "{folder}/receipt{n}.json"),
    _row("conversations erase", "user", "carl"),
    _row("knowledge erase-tenant", "{tenant}"),
)
ELSEWHERE: Final = {
    "up": "it is what runs the service: tests/system/test_starting.py",
}
"""Commands that another test runs."""
