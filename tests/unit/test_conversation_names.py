"""Which conversation a name means, and of which agent something is."""

from __future__ import annotations

from uuid import UUID, uuid4

from hypothesis import given
from hypothesis import strategies as st

from elf.core.conversation_names import conversation_id_of, id_of_names, is_id
from elf.core.nobody import AGENT_OF_NOBODY, agent_of

NAMES = st.text().filter(lambda name: not is_id(name))


@given(NAMES)
def test_a_name_means_one_conversation_of_each_user(name: str) -> None:
    first = conversation_id_of("acme", "ana", name)
    assert conversation_id_of("acme", "ana", name) == first
    others = {
        conversation_id_of("acme", "bob", name),
        conversation_id_of("acme", None, name),
        conversation_id_of("other", "ana", name),
        conversation_id_of("acme", "ana", f"{name}!"),
        id_of_names("request", "acme", "ana", name),
    }
    assert first not in others
    assert len(others) == 5


@given(st.uuids())
def test_a_name_that_is_an_id_means_the_conversation_of_that_id_for_everybody(id: UUID) -> None:
    assert is_id(str(id))
    assert conversation_id_of("acme", "ana", str(id)) == conversation_id_of("other", None, str(id)) == id


def test_what_is_kept_under_the_name_of_nobody_is_of_no_agent() -> None:
    assert [agent_of(one) for one in (None, "", AGENT_OF_NOBODY)] == [None] * 3
    name = str(uuid4())
    assert agent_of(name) == name
