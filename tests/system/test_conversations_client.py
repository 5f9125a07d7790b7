"""Conversations by their client and by the commands made from it, against the whole service."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import assert_type
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from elf.cli import main
from elf.client import AsyncClient, Client, Conflict, Forbidden, InvalidRequest, NotFound
from elf.client.families.conversations import Conversation, ConversationsClient, Entry, SearchPage
from tests.families.command_line import Ended
from tests.folders import fresh_folder
from tests.system.service import RunningService, wait_for, write_config

ROLES = (
    '\n[security.auth.roles.admin]\nusers = ["boss"]\n\n[security.auth.roles.indexer]\nusers = ["clerk"]\n'
)

Asking = Callable[..., ConversationsClient[Client]]


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(config.read_text(encoding="utf-8") + ROLES, encoding="utf-8")
        with RunningService(config) as service:
            yield service


@pytest.fixture
def user() -> str:
    return f"ana-{uuid4()}"


@pytest.fixture
def asking(service: RunningService, user: str) -> Iterator[Asking]:
    """Returns the client of a user, who is ana where none is named, maybe by a program that has a name."""
    clients = []

    def ask(who: str = user, *, client: str | None = None) -> ConversationsClient[Client]:
        headers = {"X-Client-ID": client} if client else {}
        clients.append(Client(service.url, token=who, headers=headers))
        return clients[-1].conversations

    yield ask
    for client in clients:
        client.close()


@pytest.fixture
def ana(asking: Asking) -> ConversationsClient[Client]:
    return asking()


def say(client: ConversationsClient[Client], text: str, conversation: object = None) -> Entry:
    return client.append(str(conversation or uuid4()), [{"role": "USER", "text": text}])


def text_of(entry: Entry) -> object:
    (said,) = entry.content
    assert isinstance(said, dict)
    return said["text"]


def test_a_conversation_begins_with_what_is_said(ana: ConversationsClient[Client]) -> None:
    first = say(ana, "Where is my bag?")
    assert_type(first, Entry)
    say(ana, "It is blue.", first.conversation_id)
    talk = ana.show(first.conversation_id)
    assert (talk.title, talk.last_message_preview, talk.access_level) == (
        "Where is my bag?",
        "It is blue.",
        "owner",
    )
    assert [text_of(one) for one in ana.entries(talk.id, limit=1)] == ["Where is my bag?", "It is blue."]
    assert [one.id for one in ana.list(query="BAG")] == [talk.id]
    assert ana.rename(talk.id, "Luggage").title == "Luggage"
    assert ana.rename(talk.id, None).title is None
    made = ana.create(title="Trip", metadata={"place": "Lisbon"})
    assert_type(made, Conversation)
    assert {one.id for one in ana.list(mode="all", limit=1)} == {talk.id, made.id}
    ana.delete(talk.id)
    with pytest.raises(NotFound, match="there is no conversation"):
        ana.show(talk.id)


def test_a_fork_goes_on_from_before_an_entry(ana: ConversationsClient[Client]) -> None:
    first = say(ana, "One")
    second = say(ana, "Two", first.conversation_id)
    fork = ana.fork(first.conversation_id, second.id, title="Another way")
    assert (fork.forked_at_entry_id, fork.forked_at_conversation_id) == (first.id, first.conversation_id)
    third = say(ana, "Three", fork.id)
    assert [text_of(one) for one in ana.entries(fork.id)] == ["One", "Three"]
    assert [one.conversation_id for one in ana.forks(fork.id)] == [first.conversation_id, fork.id]
    assert [text_of(one) for one in ana.entries(fork.id, whole_tree=True)] == ["One", "Two", "Three"]
    begun = ana.append(
        uuid4(),
        [{"role": "AI", "text": "Four"}],
        forked_at_conversation_id=fork.id,
        forked_at_entry_id=third.id,
    )
    assert [text_of(one) for one in ana.entries(begun.conversation_id)] == ["One", "Four"]
    with pytest.raises(InvalidRequest) as caught:
        ana.entries(first.conversation_id, cursor="x").pages().__iter__().__next__()
    assert caught.value.fields == ("cursor",)


def test_an_agent_remembers_and_has_the_context_of_its_next_call(asking: Asking) -> None:
    bot = asking(client="bot")
    talk = bot.create(title="Trip").id
    bot.append(talk, [{"role": "AI", "text": "Hello"}], channel="history")
    context = bot.context(talk)
    assert (context.source, [text_of(one) for one in context.entries]) == ("history", ["Hello"])
    assert bot.sync(talk, [{"n": 1}]).epoch == 1
    again = bot.sync(talk, [{"n": 1}])
    assert (again.no_op, again.entry) == (True, None)
    assert bot.sync(talk, [{"n": 2}]).epoch_incremented
    context = bot.context(talk, max_chars=1)
    assert (context.source, context.epoch, [one.content for one in context.entries]) == (
        "memory",
        2,
        [[{"n": 2}]],
    )
    assert [one.epoch for one in bot.entries(talk, channel="memory", epoch="all")] == [1, 2]
    assert asking().context(talk).source == "history"


def test_it_is_shared_and_handed_over(asking: Asking, user: str) -> None:
    ana, bob = asking(), asking(f"bob-of-{user}")
    talk = ana.create(title="Trip").id
    with pytest.raises(Forbidden):
        bob.show(talk)
    assert ana.share(talk, f"bob-of-{user}", "reader").access_level == "reader"
    assert ana.change_membership(talk, f"bob-of-{user}", "writer").access_level == "writer"
    assert [one.user_id for one in bob.memberships(talk)] == [user, f"bob-of-{user}"]
    asked = ana.transfer(talk, f"bob-of-{user}")
    with pytest.raises(Conflict):
        ana.transfer(talk, f"bob-of-{user}")
    assert (
        [one.id for one in bob.transfers(role="recipient")] == [asked.id] == [bob.show_transfer(asked.id).id]
    )
    bob.accept_transfer(asked.id)
    assert (bob.show(talk).owner_user_id, ana.show(talk).access_level) == (f"bob-of-{user}", "manager")
    back = bob.transfer(talk, user)
    ana.end_transfer(back.id)
    assert list(ana.transfers()) == []
    ana.remove_membership(talk, user)
    with pytest.raises(Forbidden):
        ana.show(talk)


def test_what_was_said_is_found(asking: Asking) -> None:
    ana = asking()
    said = say(ana, "The ferry to Cacilhas leaves at nine.")
    (page,) = ana.search("ferry", search_type="fulltext").pages()
    assert isinstance(page, SearchPage)
    (hit,) = page.items
    assert (hit.entry_id, hit.highlights) == (said.id, "The **ferry** to Cacilhas leaves at nine.")
    assert hit.entry is not None
    assert [one.entry for one in ana.search("ferry", search_type="fulltext", without_entry=True)] == [None]
    found = wait_for(lambda: [*ana.search("a boat", search_type="semantic")], "it is found by its meaning")
    assert [one.entry_id for one in found] == [said.id]


def test_indexers_say_by_what_entries_are_found(asking: Asking) -> None:
    bot, clerk = asking(client="bot"), asking("clerk")
    entry = bot.append(uuid4(), [{"role": "AI", "text": "Ask at the desk."}], channel="history")
    assert entry.id in [one.entry.id for one in clerk.unindexed()]
    text = {"conversationId": entry.conversation_id, "entryId": entry.id, "indexedContent": "reception"}
    assert clerk.index([text]).indexed == 1
    assert [one.entry_id for one in bot.search("reception", search_type="fulltext")] == [entry.id]
    with pytest.raises(Forbidden):
        bot.index([text])


def test_operators_see_restore_and_evict(asking: Asking, user: str) -> None:
    bot, boss = asking(client="bot"), asking("boss")
    talk = bot.create(title="Trip").id
    bot.append(talk, [{"role": "AI", "text": "The tram is late."}], channel="history", indexed_content="tram")
    bot.sync(talk, [1])
    assert [one.client_id for one in boss.admin_entries(talk)] == ["bot", "bot"]
    assert [one.entry_id for one in boss.admin_search("tram", search_type="fulltext", user_id=user)]
    assert [one.user_id for one in boss.admin_memberships(talk, justification="a complaint")] == [user]
    boss.admin_delete(talk)
    assert boss.admin_show(talk).deleted_at is not None
    assert [one.id for one in boss.admin_list(user_id=user, only_deleted=True)] == [talk]
    assert boss.admin_restore(talk).deleted_at is None
    assert bot.show(talk).owner_user_id == user
    assert [one.conversation_id for one in boss.admin_forks(talk)] == [talk]
    bot.delete(talk)
    with pytest.raises(Forbidden):
        bot.admin_show(talk)
    with boss.evict("PT0.001S") as progress:
        assert [one.progress for one in progress][-1] == 100
    with pytest.raises(NotFound):
        boss.admin_show(talk)
    boss.evict_all("P1D")


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_the_same_client_serves_async_code(service: RunningService, user: str) -> None:
    async with AsyncClient(service.url, token=user) as client:
        talks = client.conversations
        said = await talks.append(uuid4(), [{"role": "USER", "text": "Hello"}])
        assert [one.id async for one in talks.entries(said.conversation_id, limit=1)] == [said.id]
        assert [one.entry_id async for one in talks.search("hello", search_type="fulltext")] == [said.id]
        await talks.cancel_response(said.conversation_id)
        await talks.delete(said.conversation_id)
        assert [one async for one in talks.list()] == []


@pytest.fixture
def elf(
    service: RunningService, tmp_path: Path, user: str, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs a command of the family for ana, or another user."""

    def run(verb: str, *arguments: str, who: str = user) -> Ended:
        config = write_config(tmp_path, http_bind=f'"{urlsplit(service.url).netloc}"', user=f'"{who}"')
        code = main(["conversations", verb, *arguments, "-c", str(config)])
        printed = capsys.readouterr()
        return Ended(code, printed.out, printed.err)

    return run


def test_there_is_a_command_for_each_call(
    ana: ConversationsClient[Client], elf: Callable[..., Ended]
) -> None:
    first = say(ana, "Where is my bag?")
    other = say(ana, "Hello")
    assert str(first.conversation_id) in elf("list").out
    page = elf("list", "--limit", "1")
    assert str(other.conversation_id) in page.out
    assert page.err == f"elf: there are more; continue with --cursor {other.conversation_id}\n"
    assert "Where is my bag?" in elf("list", "--cursor", str(other.conversation_id)).out
    shown = elf("show", str(first.conversation_id))
    assert "Where is my bag?" in shown.out
    found = elf("search", "bag", "--search-type", "fulltext", "--json")
    assert [one["entryId"] for one in json.loads(found.out)["data"]] == [str(first.id)]
    said = elf("append", str(first.conversation_id), '{"role": "USER", "text": "It is blue."}', "--json")
    assert json.loads(said.out)["channel"] == "history"
    gone = elf("show", str(uuid4()))
    assert (gone.code, gone.err.startswith("elf: NOT_FOUND: there is no conversation")) == (1, True)


def test_evicting_takes_an_admin(ana: ConversationsClient[Client], elf: Callable[..., Ended]) -> None:
    talk = ana.create(title="Trip").id
    refused = elf("evict", "P1D")
    assert (refused.code, "FORBIDDEN" in refused.err) == (1, True)
    ana.delete(talk)
    done = elf("evict", "PT0.001S", who="boss")
    assert (done.code, done.out.splitlines()[-1]) == (0, "100")
    assert elf("admin-show", str(talk), who="boss").code == 1


def test_erasing_takes_an_admin_and_tells_how_much_went(
    asking: Asking, user: str, elf: Callable[..., Ended]
) -> None:
    bot = asking(client="bot")
    talk = bot.create(title="Trip").id
    bot.append(talk, [{"role": "USER", "text": "Hello"}], channel="history", user_id=user)
    bot.sync(talk, [1])
    refused = elf("erase", "user", user)
    assert (refused.code, "FORBIDDEN" in refused.err) == (1, True)
    with pytest.raises(Forbidden):
        asking("boss").erase("tenant", "another")
    done = elf("erase", "user", user, "--json", who="boss")
    gone = json.loads(done.out)["erased"]
    assert (gone["trees"], gone["conversations"], gone["entries"]) == (1, 1, 2)
    with pytest.raises(NotFound):
        bot.show(talk)
    assert asking("boss").erase("user", user, justification="once more").erased == {}
