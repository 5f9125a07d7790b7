"""The tools: which operation each forwards to, and what an agent that has never seen ELF is told about it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from elf.core.endpoint import Operation
from elf.families.notes import operations as o


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolText:
    """A tool in words, with what its calls may do.

    `destructive` tells that it may change or remove what is there, not only add; `idempotent` that a second call with
    the same arguments changes nothing more.
    """

    name: str
    title: str
    operation: Operation
    description: str
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False


ABOUT = """\
ELF is a long-term memory shared by agents and sessions. It keeps notes: single English sentences of one of six \
types (preference, constraint, decision, profile, fact, plan), each with its importance, confidence and source.

- Before you answer something that may depend on earlier sessions, call memory_search.
- When you learn something worth knowing next time, call memory_add_note with one sentence a fact. To have the facts \
picked out of a conversation for you, call memory_add_event.
- Correct a note with memory_update rather than adding one that contradicts it, and remove one that is wrong with \
memory_delete.
- Never store passwords, keys or other secrets: they are rejected. All text must be English: translate first.

A call that fails is answered with a JSON object: error_code, message, and fields with the paths of the arguments at \
fault. Correct those and call again; after UNAVAILABLE, wait some seconds and repeat the same call."""

CONTEXT = """

Every note belongs to a tenant, a project and an agent, and has a scope, which says who shares it. Give the same \
{fields} in every call, or what you stored is not found. If nobody told you which: {otherwise}."""

OTHERWISE = {"tenant_id": '"default"', "project_id": '"default"', "agent_id": "your own name"}


def instructions(fixed: Collection[str]) -> str:
    """Return what an agent is told before it sees the tools; `fixed` are the fields that it does not choose."""
    chosen = {name: value for name, value in OTHERWISE.items() if name not in fixed}
    if not chosen:
        return ABOUT
    otherwise = ", ".join(f"{name} is {value}" for name, value in chosen.items())
    return ABOUT + CONTEXT.format(fields=" and ".join(chosen), otherwise=otherwise)


TOOLS = (
    ToolText(
        name="memory_add_note",
        title="Remember notes",
        operation=o.ADD_NOTE,
        # It may replace the text of an earlier note, so by the protocol's words it is not "only additive".
        destructive=True,
        idempotent=True,
        description="""\
Store one or more notes exactly as you write them. Use it when you know the sentence to remember: a preference, a \
decision, a constraint, a plan, a fact, or something about the user. To have notes found in a conversation for you, \
use memory_add_event.

Write each note so that it is understood alone, in one short English sentence: "Ana prefers answers in English.", \
not "She prefers that." Give a key (such as preferred_language) to what has one current value: a later note with the \
same key replaces it. Without a key, a note that says the same as an earlier one replaces it or is recognised as \
known.

Returns results, one for each note in your order. op is ADD (new, under note_id), UPDATE (the earlier note note_id \
now says this), NONE (known already, nothing written) or REJECTED (not stored; reason_code and reason say why: too \
long, not English, holds a secret, unknown type or scope). A rejected note does not stop the others. similar_to names \
an earlier note that a new one looks like: if yours was to replace it, give it your text with memory_update and \
delete the new one.""",
    ),
    ToolText(
        name="memory_add_event",
        title="Remember from a conversation",
        operation=o.ADD_EVENT,
        destructive=True,
        description="""\
Hand over messages of a conversation and let ELF find what is worth remembering. Use it after an exchange that held \
preferences, decisions, plans or facts; it stores a few notes at most, each proven by a quotation from your \
messages. When you know the sentence to store, memory_add_note is exact and quicker.

Send the messages oldest first, each with its role (user, assistant or tool) and its content in English. With \
dry_run true nothing is stored and the results say what would be.

Returns extracted, the notes that were found with the quotations they rest on, and results, what became of each in \
the same order: ADD, UPDATE, NONE or REJECTED as in memory_add_note. Empty lists mean that nothing was worth \
keeping.""",
    ),
    ToolText(
        name="memory_search",
        title="Search memory",
        operation=o.SEARCH,
        # It leaves a trace and, with record_hits, counts; no note changes by it.
        read_only=True,
        idempotent=True,
        description="""\
Find the notes that help with a question, by meaning and by words. Use it at the start of a task, and whenever \
something learned in an earlier session may matter. Ask in English, for one thing at a time: "Which language does \
Ana want answers in?" finds more than a list of keywords.

read_profile says how far to look: only your own notes, or shared ones as well. top_k limits the results. Set \
record_hits to true when you use the results, so that notes in use are known.

Returns items, best first. Of each: snippet, the text to use; final_score, which ranks items within this answer and \
is no probability; type, key, scope, confidence and updated_at, to judge what still holds; source_ref, where it \
comes from; note_id, for memory_get, memory_update and memory_delete; result_handle, for memory_search_explain. No \
items means that nothing is known, so do not guess. degraded names the parts of the search that were away; the items \
are still right. A note added a moment ago may take a second to be found.""",
    ),
    ToolText(
        name="memory_search_explain",
        title="Explain a search result",
        operation=o.SEARCH_EXPLAIN,
        read_only=True,
        idempotent=True,
        description="""\
Say why a result of memory_search stands where it stands. Use it to look into a surprising or missing result, not in \
everyday work. result_handle is that of an item in the answer of a search, and is known for some days; it shows a \
second or so after the search.

Returns trace (the query, how it was reworded, the scopes read, the time of each stage), item (the result, its rank \
and every term of its score), other_items (the results it is ranked among) and dropped (candidates that did not \
become results: at which stage and why).""",
    ),
    ToolText(
        name="memory_list",
        title="List memory",
        operation=o.LIST_NOTES,
        read_only=True,
        idempotent=True,
        description="""\
Read notes page by page, without a question, the one changed last first. Use it to review or tidy what is stored; to \
find something, memory_search is better. Filter by scope, type or status (active unless you say otherwise). Without \
a scope it lists the shared scopes; an agent's own notes are listed when you give the scope agent_private and its \
agent_id.

Returns items, whole notes with their note_id, and next_cursor: pass it as cursor, with everything else unchanged, \
for the next page; null is the end.""",
    ),
    ToolText(
        name="memory_get",
        title="Read a note",
        operation=o.GET_NOTE,
        read_only=True,
        idempotent=True,
        description="""\
Read one note whole, by its note_id from a search, a listing or an earlier write. Use it when a snippet is not \
enough: for the full text, the status, the dates and source_ref, the evidence that the note rests on.

Returns the note. NOT_FOUND means that there is no such note, or not for you.""",
    ),
    ToolText(
        name="memory_update",
        title="Change a note",
        operation=o.UPDATE_NOTE,
        destructive=True,
        idempotent=True,
        description="""\
Change a note in place: its text, importance, confidence or lifetime, at least one of them; what you leave out \
stays. Use it when what is remembered has changed or was not quite right. The note keeps its note_id, and its \
earlier text is kept in its history.

Returns op: UPDATE (changed), NONE (it was like that already) or REJECTED (the new text may not be stored; \
reason_code and reason say why, and the note stays as it was). NOT_FOUND means that there is no such note, or that \
it was deleted or has expired.""",
    ),
    ToolText(
        name="memory_delete",
        title="Delete a note",
        operation=o.DELETE_NOTE,
        destructive=True,
        idempotent=True,
        description="""\
Delete a note, so that no search finds it. Use it for what is wrong or what somebody asks you to forget; for what \
has merely changed use memory_update. Operators can restore it for a while.

Returns op: DELETE (deleted now) or NONE (it was deleted before). NOT_FOUND means that there is no such note, or not \
for you.""",
    ),
)
