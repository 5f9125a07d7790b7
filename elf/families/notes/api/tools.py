"""The tools of the notes family: which operation each forwards to, and what a model is told about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elf.api.tool import Tool
from elf.families.notes.api import flat_filters, one_note
from elf.families.notes.api import operations as o

ABOUT: Final = """\
ELF is a long-term memory that agents share across sessions. It keeps notes: single English sentences, each of a type \
and with its source.

- Before you answer something that may depend on earlier sessions, call memory_search.
- When you learn something worth knowing next time, call memory_add_note. To have the facts picked out of a \
conversation for you, call memory_add_event.
- Correct a note with memory_update rather than adding one that contradicts it, and remove one that is wrong with \
memory_delete.
- Never store passwords, keys or other secrets: they are rejected. All text must be English: translate first.

A call that fails is answered with a JSON object: error_code, message, and fields with the paths of the arguments at \
fault. Correct those and call again; after UNAVAILABLE, wait some seconds and repeat the same call."""

LEAVE_OUT: Final = """

Leave out {fields} unless you are told which to use."""

CHOOSE: Final = """

Every note belongs to a tenant, a project and an agent. Give the same {fields} in every call, or what you stored is \
not found. If nobody told you which: {otherwise}."""

OTHERWISE: Final = {
    "tenant_id": 'tenant_id is "default"',
    "project_id": 'project_id is "default"',
    "agent_id": "agent_id is your own name",
}

_CONTEXT: Final = {
    "tenant_id": "The organisation or app.",
    "project_id": "The project, or the user it is about.",
    "agent_id": "The agent that speaks: you.",
}
_NOTE_ID: Final = {"note_id": "From a search, a listing or an earlier write."}
_TEXT: Final = {"text": "One English sentence, at most {max_note_chars} characters."}
_LIFETIME: Final = "Days until it expires; 0: as usual for its type."


def instructions(*, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    """Return what an agent is told before it sees the tools.

    `fixed` are the fields that it does not choose, `defaults` the values of those that it may leave out.
    """
    chosen = [name for name in OTHERWISE if name not in fixed]
    known = [name for name in chosen if name in defaults]
    open_fields = [name for name in chosen if name not in defaults]
    text = ABOUT
    if known:
        text += LEAVE_OUT.format(fields=" and ".join(known))
    if open_fields:
        otherwise = ", ".join(OTHERWISE[name] for name in open_fields)
        text += CHOOSE.format(fields=" and ".join(open_fields), otherwise=otherwise)
    return text


TOOLS: Final = (
    Tool(
        name="memory_add_note",
        title="Remember notes",
        operation=o.ADD_NOTE,
        reshaping=one_note.RESHAPING,
        # It may replace the text of an earlier note, so by the protocol's words it is not "only additive".
        destructive=True,
        idempotent=True,
        description="""\
Store what is worth knowing in later sessions: a preference, a decision, a constraint, a plan, a fact, or something \
about the user. Give one note as text, or several as notes. To have notes found in a conversation for you, use \
memory_add_event.

Write each so that it is understood alone, in one short sentence: "Ana prefers answers in English.", not "She prefers \
that." Give a key to what has one current value; without one, a note that says the same as an earlier one replaces it \
or is recognised as known.

Returns results in your order, each with note_id and op: ADD (new), UPDATE (that earlier note now says this), NONE \
(known already) or REJECTED (not stored; reason says why). similar_to names an earlier note that looks alike: if yours \
was to replace it, memory_update that one and memory_delete yours.""",
        arguments={
            **_TEXT,
            "type": "",
            "key": "What it is about, such as preferred_language: a later note with the same key replaces this one.",
            "importance": "How much it matters, 0 to 1.",
            "confidence": "How sure you are, 0 to 1.",
            "ttl_days": _LIFETIME,
            "source_ref": "Where it comes from: any JSON object.",
            "notes": "Several notes at once, instead of text and its companions.",
            "scope": "Who shares it.",
            **_CONTEXT,
        },
    ),
    Tool(
        name="memory_add_event",
        title="Remember from a conversation",
        operation=o.ADD_EVENT,
        destructive=True,
        description="""\
Let ELF find what is worth remembering in a conversation: a few notes at most, each proven by a quotation. Use it \
after an exchange that held preferences, decisions, plans or facts. When you know the sentence to store, \
memory_add_note is exact and quicker.

Returns extracted, the notes found with their quotations, and results, what became of each, as memory_add_note says \
it. Empty lists: nothing was worth keeping.""",
        arguments={
            "messages": "In English, oldest first.",
            "scope": "Who shares the notes.",
            "dry_run": "true: say what would be stored, and store nothing.",
            **_CONTEXT,
        },
    ),
    Tool(
        name="memory_search",
        title="Search memory",
        operation=o.SEARCH,
        reshaping=flat_filters.RESHAPING,
        # It leaves a trace; no note changes by it.
        read_only=True,
        idempotent=True,
        description="""\
Find the notes that help with a question, by meaning and by words. Use it at the start of a task, and whenever \
something learned in an earlier session may matter. Ask for one thing at a time: "Which language does Ana want answers \
in?" finds more than a list of keywords.

Returns items, best first: text; type, key and updated (its last change), to judge what still holds; source, where \
it comes from; note_id, for the other tools. No items, or weak_match (none is close): most likely nothing is known, so \
do not guess. degraded: parts that were away; the items are still right. trace_id is for memory_search_explain. \
A note added just now may be missing.""",
        arguments={
            "query": "In English.",
            "top_k": "Most items, 1 to 100; by default {top_k}.",
            "type": "Only notes of this type.",
            "key_prefix": "Only notes whose key begins so.",
            "since": "Only notes changed then or later: 2026-01-31, or 2026-01-31T09:30:00Z.",
            "until": "Only notes changed before.",
            "read_profile": "What to read. {profiles}.",
            **_CONTEXT,
        },
    ),
    Tool(
        name="memory_search_explain",
        title="Explain a search",
        operation=o.SEARCH_TRACE,
        read_only=True,
        idempotent=True,
        description="""\
Say why the results of a memory_search stand where they stand. Use it to look into a surprising or missing result, \
not in everyday work.

Returns items by rank, each with its score, the terms that add up to it and the words it matched; and dropped, the \
notes that came closest to being results, with the reason. NOT_FOUND: the search is some days old, or not a second.""",
        arguments={"trace_id": "From the answer of the search.", **_CONTEXT},
    ),
    Tool(
        name="memory_list",
        title="List memory",
        operation=o.LIST_NOTES,
        read_only=True,
        idempotent=True,
        description="""\
Read notes page by page, without a question, the one changed last first: your own and those shared with you. Use it \
to review or tidy what is stored; to find something, memory_search is better.

Returns items as memory_search does and, when there are more, next_cursor: pass it as cursor, with everything else \
unchanged.""",
        arguments={
            "scope": "Only this scope.",
            "type": "Only this type.",
            "status": "Only this status.",
            "limit": "Most items, 1 to 200.",
            "cursor": "next_cursor of the page before.",
            "read_profile": "What to read, as in memory_search.",
            **_CONTEXT,
        },
    ),
    Tool(
        name="memory_get",
        title="Read a note",
        operation=o.GET_NOTE,
        read_only=True,
        idempotent=True,
        description="""\
Read one note whole. Use it when the short form of a search or a listing is not enough: for the full text, scope, \
status, importance, dates and source_ref, the evidence that it rests on.

Returns the note. NOT_FOUND: there is no such note, or not for you.""",
        arguments=_NOTE_ID | _CONTEXT,
    ),
    Tool(
        name="memory_update",
        title="Change a note",
        operation=o.UPDATE_NOTE,
        destructive=True,
        idempotent=True,
        description="""\
Change at least one of a note's text, importance, confidence and lifetime; what you leave out stays. Use it when what \
is remembered has changed or was not quite right. The note keeps its note_id, and its earlier text in its history.

Returns op: UPDATE, NONE (it was like that already) or REJECTED (reason says why; the note stays as it was). \
NOT_FOUND: there is no such note, or it was deleted or has expired.""",
        arguments={
            **_NOTE_ID,
            **_TEXT,
            "importance": "0 to 1.",
            "confidence": "0 to 1.",
            "ttl_days": _LIFETIME,
            **_CONTEXT,
        },
    ),
    Tool(
        name="memory_delete",
        title="Delete a note",
        operation=o.DELETE_NOTE,
        destructive=True,
        idempotent=True,
        description="""\
Delete a note, so that no search finds it. Use it for what is wrong or what somebody asks you to forget; for what has \
merely changed use memory_update. Operators can restore it for a while.

Returns op: DELETE, or NONE when it was deleted before. NOT_FOUND: there is no such note, or not for you.""",
        arguments=_NOTE_ID | _CONTEXT,
    ),
)
