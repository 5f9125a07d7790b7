"""Every family of memory, as the checks of this folder know it. A family adds one entry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from elf.client.families.assistant import AssistantClient
from elf.client.families.conversations import ConversationsClient
from elf.client.families.graph import GraphClient
from elf.client.families.knowledge import KnowledgeClient
from elf.client.families.memories import MemoriesClient
from elf.client.families.store import StoreClient
from elf.client.families.webhooks import WebhooksClient
from elf.client.family import FamilyClient
from elf.families.assistant import manifest as assistant_manifest
from elf.families.conversations import manifest as conversations_manifest
from elf.families.graph import manifest as graph_manifest
from elf.families.knowledge import manifest as knowledge_manifest
from elf.families.notes import manifest
from elf.families.store import manifest as store_manifest
from elf.family import Family
from elf.memory import manifest as memories_manifest
from elf.webhooks import manifest as webhooks_manifest
from tests.families import (
    assistant_callers,
    assistant_leaks,
    assistant_rows,
    assistant_work,
    assistant_world,
    conversations_callers,
    conversations_leaks,
    conversations_rows,
    conversations_work,
    conversations_world,
    files_work,
    graph_callers,
    graph_leaks,
    graph_rows,
    graph_work,
    graph_world,
    knowledge_leaks,
    knowledge_proof,
    memories_proof,
    notes_leaks,
    notes_rows,
    notes_work,
    notes_world,
    sessions_work,
    store_proof,
    webhooks_proof,
)
from tests.families.callers import GUARDED, OWNER
from tests.families.leaks import Leaks
from tests.families.rows import CALLERS, Caller, Row, World
from tests.families.several_works import SeveralWorks
from tests.families.toy_corpus import client as toy_corpus_client
from tests.families.toy_corpus import manifest as toy_corpus_manifest
from tests.families.toy_corpus import proof as toy_corpus_proof
from tests.families.toy_rows import client as toy_rows_client
from tests.families.toy_rows import manifest as toy_rows_manifest
from tests.families.toy_rows import proof as toy_rows_proof
from tests.families.work import FamilyWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What a family brings to be proven.

    Its rows of the isolation table, an owner to try them on, and leaks that they have to find; and its random work,
    with the proof that it is there. `client` is that of its calls, notes have none beside `Client` itself; `config` is
    its table of the config file, where it has one, or what returns it. `callers` are who calls where nobody is asked
    who it is, `guarded` where everybody is, and `owner` whom the things belong to that they are after: where it tells
    them apart by other fields than notes do, they are its own.
    """

    family: Family
    rows: Sequence[Row]
    settle: Callable[..., World]
    leaks: Leaks
    work: FamilyWork[Any]
    client: type[FamilyClient[Any]] | None = None
    callers: Sequence[Caller] = CALLERS
    guarded: Sequence[Caller] = GUARDED
    owner: Caller = OWNER
    config: str | Callable[[], str] = ""

    @property
    def name(self) -> str:
        return self.family.name


NOTES: Final = Proof(
    family=manifest.NOTES,
    rows=notes_rows.ROWS,
    settle=notes_world.settle,
    leaks=notes_leaks.LEAKS,
    work=notes_work.NotesWork(),
)
TOY_ROWS: Final = Proof(
    family=toy_rows_manifest.TOY_ROWS,
    rows=toy_rows_proof.ROWS,
    settle=toy_rows_proof.settle,
    leaks=toy_rows_proof.LEAKS,
    work=toy_rows_proof.ToyWork(),
    client=toy_rows_client.ToyBox,
    config='[toy_rows]\ndiary = "toys.txt"\n',
)
TOY_CORPUS: Final = Proof(
    family=toy_corpus_manifest.TOY_CORPUS,
    rows=toy_corpus_proof.ROWS,
    settle=toy_corpus_proof.settle,
    leaks=toy_corpus_proof.LEAKS,
    work=toy_corpus_proof.StoryWork(),
    client=toy_corpus_client.StoryClient,
    config="[toy_corpus]\nkeep_days = 30\n",
)
KNOWLEDGE: Final = Proof(
    family=knowledge_manifest.KNOWLEDGE,
    rows=knowledge_proof.ROWS,
    settle=knowledge_proof.settle,
    leaks=knowledge_leaks.LEAKS,
    work=knowledge_proof.KnowledgeWork(),
    config="[knowledge]\n",
    client=KnowledgeClient,
    callers=[*map(knowledge_proof.by_tenant, CALLERS)],
    guarded=[*map(knowledge_proof.by_tenant, GUARDED)],
    owner=knowledge_proof.OWNER,
)
CONVERSATIONS: Final = Proof(
    family=conversations_manifest.CONVERSATIONS,
    rows=conversations_rows.ROWS,
    settle=conversations_world.settle,
    leaks=conversations_leaks.LEAKS,
    work=SeveralWorks(conversations_work.ConversationsWork(), sessions_work.SessionsWork()),
    config="[conversations]\n",
    client=ConversationsClient,
    callers=conversations_callers.CALLERS,
    guarded=conversations_callers.GUARDED,
    owner=conversations_callers.OWNER,
)
GRAPH: Final = Proof(
    family=graph_manifest.GRAPH,
    rows=graph_rows.ROWS,
    settle=graph_world.settle,
    leaks=graph_leaks.LEAKS,
    work=graph_work.GraphWork(),
    config="[graph]\nauto_register = true\n",
    client=GraphClient,
    callers=graph_callers.CALLERS,
    guarded=graph_callers.GUARDED,
    owner=graph_world.ORCHESTRATOR,
)
ASSISTANT: Final = Proof(
    family=assistant_manifest.ASSISTANT,
    rows=assistant_rows.ROWS,
    settle=assistant_world.settle,
    leaks=assistant_leaks.LEAKS,
    work=SeveralWorks(assistant_work.AssistantWork(), files_work.FilesWork()),
    config="[assistant]\n",
    client=AssistantClient,
    callers=assistant_callers.CALLERS,
    guarded=assistant_callers.GUARDED,
    owner=assistant_callers.OWNER,
)
STORE: Final = Proof(
    family=store_manifest.STORE,
    rows=store_proof.ROWS,
    settle=store_proof.settle,
    leaks=store_proof.LEAKS,
    work=store_proof.StoreWork(),
    config="[store]\n",
    client=StoreClient,
    callers=assistant_callers.CALLERS,
    guarded=assistant_callers.GUARDED,
    owner=assistant_callers.OWNER,
)
WEBHOOKS: Final = Proof(
    family=webhooks_manifest.WEBHOOKS,
    rows=webhooks_proof.ROWS,
    settle=webhooks_proof.settle,
    leaks=webhooks_proof.LEAKS,
    work=store_proof.StoreWork(),
    config=webhooks_proof.config,
    client=WebhooksClient,
    callers=webhooks_proof.CALLERS,
    guarded=webhooks_proof.GUARDED,
    owner=webhooks_proof.OWNER,
)
MEMORIES: Final = Proof(
    family=memories_manifest.MEMORY,
    rows=memories_proof.ROWS,
    settle=memories_proof.settle,
    leaks=memories_proof.LEAKS,
    work=memories_proof.MemoriesWork(),
    client=MemoriesClient,
)
PROOFS: Final = (
    NOTES,
    KNOWLEDGE,
    CONVERSATIONS,
    GRAPH,
    ASSISTANT,
    STORE,
    WEBHOOKS,
    MEMORIES,
    TOY_ROWS,
    TOY_CORPUS,
)

# What the service offers whatever its families are.
SERVICE_ROWS: Final = (
    Row(
        names=("health", "ready"),
        whole_service="whether the service is up tells nothing of what it keeps",
        open_to_nobody=True,
    ),
    Row(
        names=("collect_garbage",), whole_service="it tidies up for everybody, and tells no more than counts"
    ),
    Row(
        names=("rebuild_index", "index_progress", "compare_index", "repair_index"),
        asked={"corpus": "notes"},
        whole_service="an index is kept right as a whole, and no more than counts and ids are told of it",
    ),
)
EVERY_ROW: Final = (*SERVICE_ROWS, *(row for proof in PROOFS for row in proof.rows))

IDENTITIES: Final = {
    one.identity for proof in PROOFS for one in (proof.owner, *proof.guarded) if one.identity is not None
}
"""What callers prove of themselves, where they are asked who they are."""
