"""What is erased is in no table any more, and nothing else is missing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from structlog.testing import capture_logs

from elf.api.operation import Handler
from elf.core.errors import InvalidRequest
from elf.db.database import Database
from elf.families.conversations.subjects.offer import ConversationSubjects
from elf.offers import Subject
from tests.db.conversations.planted import Planted, tables_with
from tests.db.conversations.wire_kit import ROOT, Wire, asking

pytestmark = pytest.mark.anyio

INDEXER = {"user": "clerk", "role": "indexer"}
ADMIN = {"user": "boss", "role": "admin"}


@pytest.fixture
async def ask(handlers: Mapping[str, Handler]) -> AsyncIterator[Wire]:
    async with asking(handlers) as wire:
        yield wire


@pytest.fixture
def planted() -> Planted:
    return Planted()


async def share(ask: Wire, id: str, owner: str, user: str, level: str = "writer") -> None:
    answer = await ask(f"POST {ROOT}/{id}/memberships", {"userId": user, "accessLevel": level}, user=owner)
    assert answer.status_code == 201, answer.text


async def begun(ask: Wire, user: str, **body: Any) -> str:
    answer = await ask(f"POST {ROOT}", body, user=user)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


async def filled(ask: Wire, planted: Planted, user: str, word: str, *, said: int = 4) -> str:
    """A tree of a user's in which a word is everywhere: title, metadata, entries, a fork, memory; two are members."""
    id = await begun(ask, user, title=word, metadata={"about": word})
    ids = [await ask.say(id, f"{word} {number}", user=user) for number in range(said)]
    assert (
        await ask(f"POST {ROOT}/{id}/entries/{ids[1]}/fork", {"title": word}, user=user)
    ).status_code == 201
    body = {"channel": "memory", "contentType": "LC4J", "content": [word]}
    assert (await ask(f"POST {ROOT}/{id}/entries/sync", body, user=user, client="bot")).status_code == 200
    await share(ask, id, user, "carl")
    await share(ask, id, user, "dora", "reader")
    transfer = {"conversationId": id, "newOwnerUserId": "carl"}
    assert (await ask("POST /v1/ownership-transfers", transfer, user=user)).status_code == 201
    return id


async def lists(ask: Wire, user: str, **more: Any) -> list[Any]:
    found: list[Any] = (await ask(f"GET {ROOT}?mode=all&limit=200", user=user, **more)).json()["data"]
    return found


async def test_a_tenant_is_erased_whole_and_no_other_is_touched(
    ask: Wire, subjects: ConversationSubjects, planted: Planted, database: Database
) -> None:
    await filled(ask, planted, planted.ana, planted.word)
    await filled(ask, planted, planted.bob, planted.word)
    other = await begun(ask, planted.ana, title="deleted")
    assert (await ask(f"DELETE {ROOT}/{other}", user=planted.ana)).status_code == 204
    another = partial(ask, tenant=f"other {ask.tenant}", user="zoe")
    kept = (await another(f"POST {ROOT}", {"title": planted.kept})).json()
    assert dict(await subjects.erase(Subject(tenant_id=ask.tenant))) == {
        "trees": 3, "conversations": 5, "entries": 10, "memberships": 6, "transfers": 2,
    }  # fmt: skip
    for mark in (planted.word, planted.ana, planted.bob, f'"{ask.tenant}"'):
        assert await tables_with(database, mark) == set()
    assert (await another(f"GET {ROOT}/{kept['id']}")).json() == kept
    assert dict(await subjects.erase(Subject(tenant_id=ask.tenant))) == {}


async def test_a_user_s_own_trees_go_whole_and_those_of_others_stay(
    ask: Wire, subjects: ConversationSubjects, planted: Planted, database: Database
) -> None:
    gone = await filled(ask, planted, planted.ana, planted.word)
    deleted = await filled(ask, planted, planted.ana, planted.word)
    assert (await ask(f"DELETE {ROOT}/{deleted}", user=planted.ana)).status_code == 204
    stays = await filled(ask, planted, planted.bob, planted.kept)
    before = await ask.entries(stays, user=planted.bob)
    await subjects.erase(Subject(tenant_id=ask.tenant, user=planted.ana))
    for mark in (planted.word, planted.ana):
        assert await tables_with(database, mark) == set()
    assert (await ask(f"GET {ROOT}/{gone}", user="carl")).status_code == 404
    assert await ask.entries(stays, user=planted.bob) == before
    assert {"conversations", "conversation_texts"} < await tables_with(database, planted.kept)


async def test_what_a_user_said_to_others_is_blank_and_in_no_list(
    ask: Wire, subjects: ConversationSubjects, planted: Planted, database: Database
) -> None:
    id = await begun(ask, planted.bob)
    await share(ask, id, planted.bob, planted.ana)
    mine = [await ask.say(id, f"{planted.word} {number}", user=planted.ana) for number in range(5)]
    theirs = await ask.say(id, planted.kept, user=planted.bob)
    fork = await ask(f"POST {ROOT}/{id}/entries/{mine[4]}/fork", {}, user=planted.bob)
    last = await ask.say(id, f"{planted.word} last", user=planted.ana)
    text = {"conversationId": id, "entryId": mine[0], "indexedContent": f"{planted.word} again"}
    assert (await ask(f"POST {ROOT}/index", [text], **INDEXER)).status_code == 200
    assert {one["title"] for one in await lists(ask, planted.bob)} == {f"{planted.word} 0"}
    erased = await subjects.erase(Subject(tenant_id=ask.tenant, user=planted.ana))
    assert dict(erased) == {"memberships": 1, "titles": 2, "entries": 6}
    for mark in (planted.word, planted.ana):
        assert await tables_with(database, mark) == set()
    entries = await ask.entries(id, user=planted.bob)
    assert [one["id"] for one in entries] == [*mine, theirs, last]
    blank = [one for one in entries if one["id"] != theirs]
    assert all(one["content"] == [{"role": "USER", "text": ""}] and "userId" not in one for one in blank)
    assert len(await ask.entries(fork.json()["id"], user=planted.bob)) == 4
    shown = await lists(ask, planted.bob)
    assert all("title" not in one and "lastMessagePreview" not in one for one in shown)
    assert (await ask(f"GET {ROOT}/{id}", user=planted.ana)).status_code == 403
    assert (await ask(f"GET {ROOT}/unindexed", **INDEXER)).json()["data"] == []
    assert (await ask(f"POST {ROOT}/index", [text], **INDEXER)).status_code == 404
    assert await tables_with(database, planted.word) == set()


async def test_a_preview_of_another_s_words_stays(
    ask: Wire, subjects: ConversationSubjects, planted: Planted
) -> None:
    id = await begun(ask, planted.bob, title="Trip")
    await share(ask, id, planted.bob, planted.ana)
    await ask.say(id, "Yes.", user=planted.ana)
    await ask.say(id, "Yes.", user=planted.bob)
    await subjects.erase(Subject(tenant_id=ask.tenant, user=planted.ana))
    (shown,) = await lists(ask, planted.bob)
    assert (shown["title"], shown["lastMessagePreview"]) == ("Trip", "Yes.")


async def test_a_tree_that_a_user_gave_away_is_the_owner_s_without_the_user_s_name(
    ask: Wire, subjects: ConversationSubjects, planted: Planted, database: Database
) -> None:
    id = await begun(ask, planted.ana, title=planted.word, metadata={"about": planted.word})
    for number in range(4):
        await ask.say(id, f"{planted.word} {number}", user=planted.ana)
    await share(ask, id, planted.ana, planted.bob)
    for number in range(4):
        await ask.say(id, f"{planted.kept} {number}", user=planted.bob)
    transfer = {"conversationId": id, "newOwnerUserId": planted.bob}
    offer = (await ask("POST /v1/ownership-transfers", transfer, user=planted.ana)).json()
    accepted = await ask(f"POST /v1/ownership-transfers/{offer['id']}/accept", user=planted.bob)
    assert accepted.status_code == 204
    async with database.connection() as connection:
        await connection.execute("DELETE FROM conversations_indexing_outbox")
    await subjects.erase(Subject(tenant_id=ask.tenant, user=planted.ana))
    for mark in (planted.word, planted.ana):
        assert await tables_with(database, mark) == set()
    found = await ask(
        f"POST {ROOT}/search", {"query": planted.kept, "groupByConversation": False}, user=planted.bob
    )
    assert len(found.json()["data"]) == 4
    async with database.connection() as connection:
        jobs = await connection.fetch("SELECT DISTINCT subject_id FROM conversations_indexing_outbox")
    assert {UUID(one["entryId"]) for one in found.json()["data"]} <= {row["subject_id"] for row in jobs}


async def test_who_is_taken_out_of_a_tree_is_told_in_the_log(
    ask: Wire, subjects: ConversationSubjects, planted: Planted
) -> None:
    id = await begun(ask, planted.bob)
    await share(ask, id, planted.bob, planted.ana, "manager")
    with capture_logs() as logs:
        await subjects.erase(Subject(tenant_id=ask.tenant, user=planted.ana))
    (line,) = [one for one in logs if one["event"] == "membership_audit"]
    assert (line["member"], line["was"], line["now"]) == (planted.ana, "manager", None)


async def sync(ask: Wire, id: str, *items: Any, user: str, client: str = "bot", of: str | None = None) -> Any:
    body = {"channel": "memory", "contentType": "LC4J", "content": list(items), "userId": of}
    given = {name: value for name, value in body.items() if value is not None}
    answer = await ask(f"POST {ROOT}/{id}/entries/sync", given, user=user, client=client)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_an_agent_forgets_everything_and_what_it_said_stays(
    ask: Wire, subjects: ConversationSubjects, planted: Planted, database: Database
) -> None:
    agent = f"bot{planted.word}"
    id = await begun(ask, planted.bob)
    said = {"channel": "history", "contentType": "history", "content": [{"role": "AI", "text": planted.kept}]}
    assert (await ask(f"POST {ROOT}/{id}/entries", said, user=planted.bob, client=agent)).status_code == 201
    for items in ([planted.word], [planted.word, "b"], ["c", planted.word], [planted.word], []):
        await sync(ask, id, *items, user=planted.bob, client=agent)
    await sync(ask, id, "mine", user=planted.bob, client="other")
    erased = await subjects.erase(Subject(tenant_id=ask.tenant, agent_id=agent))
    assert dict(erased) == {"entries": 5, "names": 1}
    assert await tables_with(database, planted.word) == set()
    memory = f"{ROOT}/{id}/entries?channel=memory&epoch=all"
    assert (await ask(f"GET {memory}", user=planted.bob, client=agent)).json()["data"] == []
    other = await ask(f"GET {memory}", user=planted.bob, client="other")
    assert [one["content"] for one in other.json()["data"]] == [["mine"]]
    history = await ask.entries(id, user=planted.bob)
    assert [one["content"][0]["text"] for one in history] == [planted.kept]
    assert (await sync(ask, id, "x", user=planted.bob, client=agent))["epoch"] == 1


async def test_a_memory_that_has_lost_a_user_s_part_is_written_anew(
    ask: Wire, subjects: ConversationSubjects, planted: Planted, database: Database
) -> None:
    id = await begun(ask, planted.bob)
    await sync(ask, id, planted.kept, user=planted.bob)
    await sync(ask, id, planted.kept, planted.word, user=planted.bob, of=planted.ana)
    await sync(ask, id, planted.kept, planted.word, "c", user=planted.bob)
    await subjects.erase(Subject(tenant_id=ask.tenant, user=planted.ana))
    for mark in (planted.word, planted.ana):
        assert await tables_with(database, mark) == set()
    memory = f"GET {ROOT}/{id}/entries?channel=memory"
    left = (await ask(memory, user=planted.bob, client="bot")).json()["data"]
    assert [one["content"] for one in left] == [[planted.kept], [], ["c"]]
    done = await sync(ask, id, planted.kept, "c", user=planted.bob)
    assert (done["noOp"], done["epoch"], done["epochIncremented"]) == (False, 2, True)
    assert (await sync(ask, id, planted.kept, "c", user=planted.bob))["noOp"]


@pytest.mark.parametrize("items", [[], ["kept"], ["kept", "word"]])
async def test_a_sync_never_judges_by_what_was_erased(
    ask: Wire, subjects: ConversationSubjects, planted: Planted, items: list[str]
) -> None:
    id = await begun(ask, planted.bob)
    await sync(ask, id, "kept", user=planted.bob)
    await sync(ask, id, "kept", "word", user=planted.bob, of=planted.ana)
    await subjects.erase(Subject(tenant_id=ask.tenant, user=planted.ana))
    done = await sync(ask, id, *items, user=planted.bob)
    assert (done["epoch"], done["entry"]["content"]) == (2, items)


ERASE = "POST /v1/admin/conversations/erase"


async def test_an_admin_erases_whom_it_names_and_the_log_tells_why(
    ask: Wire, planted: Planted, database: Database
) -> None:
    id = await begun(ask, planted.ana, title=planted.word)
    await sync(ask, id, planted.word, user=planted.ana, client="bot")
    agent = {"what": "agent", "name": "bot"}
    for role in ("user", "auditor", "indexer"):
        assert (await ask(ERASE, agent, user=planted.ana, role=role)).status_code == 403
    assert (await ask(ERASE, agent, **ADMIN)).json() == {"erased": {"entries": 1}}
    body = {"what": "user", "name": planted.ana, "justification": "her letter"}
    with capture_logs() as logs:
        answer = await ask(ERASE, body, **ADMIN)
    assert answer.json() == {"erased": {"trees": 1, "conversations": 1, "entries": 1, "memberships": 1}}
    (line,) = [one for one in logs if one["event"] == "admin_audit"]
    assert (line["action"], line["role"], line["justification"]) == ("erase", "admin", "her letter")
    assert line["parameters"] == {"what": "user", "name": planted.ana}
    assert await tables_with(database, planted.word) == set()
    assert (await ask(ERASE, body, **ADMIN)).json() == {"erased": {}}


async def test_an_admin_erases_all_of_its_own_tenant_which_it_names(
    ask: Wire, planted: Planted, database: Database
) -> None:
    await begun(ask, planted.ana, title=planted.word)
    for name in ("", "another"):
        refused = await ask(ERASE, {"what": "tenant", "name": name}, **ADMIN)
        assert refused.status_code == (403 if name else 400)
    others = await ask(ERASE, {"what": "tenant", "name": ask.tenant}, **ADMIN, tenant="another")
    assert others.status_code == 403
    assert await tables_with(database, planted.word) == {"conversations"}
    answer = await ask(ERASE, {"what": "tenant", "name": ask.tenant}, **ADMIN)
    assert answer.json()["erased"]["trees"] == 1
    assert await tables_with(database, planted.word) == set()


@pytest.mark.parametrize(
    ("subject", "fields"),
    [
        (Subject(tenant_id="acme", user="ana", agent_id="bot"), ("$.user", "$.agent_id")),
        (Subject(tenant_id="acme", user=""), ("$.user",)),
        (Subject(tenant_id="acme", agent_id=""), ("$.agent_id",)),
        (Subject(tenant_id=""), ("$.tenant_id",)),
    ],
)
async def test_whom_nobody_is_cannot_be_erased_or_exported(
    subjects: ConversationSubjects, subject: Subject, fields: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        await subjects.erase(subject)
    assert refusal.value.fields == fields
    with pytest.raises(InvalidRequest):
        await anext(subjects.export(subject))
