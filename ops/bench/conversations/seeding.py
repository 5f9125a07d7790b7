"""Trees of conversations straight into Postgres, as the service would have written them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID, uuid4

from elf.db.database import Connection
from elf.families.conversations.rules.words import spaced
from ops.bench.conversations.talking import TENANT

PATIENCE_S: Final = 600

# The first conversation of a tree has the id of the tree.
_TREES: Final = """
WITH tree AS (
  INSERT INTO conversation_trees (tenant_id, tree_id, owner_user_id, creator, created_at)
  SELECT $1, t.id, $3, $3, now() FROM unnest($2::uuid[]) AS t (id) RETURNING tree_id
), member AS (
  INSERT INTO conversation_memberships (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
  SELECT $1, t.tree_id, $3, 'owner', true, now() FROM tree AS t
)
INSERT INTO conversations (tenant_id, conversation_id, tree_id, title, last_seq, created_at, updated_at)
SELECT $1, t.tree_id, t.tree_id, 'A conversation', 0, now(), now() FROM tree AS t
"""
_FORK: Final = """
INSERT INTO conversations (
  tenant_id, conversation_id, tree_id, title, forked_at_conversation_id, forked_at_entry_id, ancestors, ancestor_ends,
  last_seq, created_at, updated_at)
SELECT c.tenant_id, $3, c.tree_id, c.title, c.conversation_id, e.entry_id, c.ancestors || c.conversation_id,
  c.ancestor_ends || e.seq, 0, now(), now()
FROM conversations AS c JOIN conversation_entries AS e USING (tenant_id, conversation_id)
WHERE c.tenant_id = $1 AND c.conversation_id = $2 AND e.seq = $4
"""
_SHARES: Final = """
INSERT INTO conversation_memberships (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
SELECT $1, t.id, $3, 'reader', false, now() FROM unnest($2::uuid[]) AS t (id)
"""
_ENTRIES: Final = """
INSERT INTO conversation_entries (
  tenant_id, conversation_id, seq, entry_id, tree_id, user_id, channel, content_type, content, is_indexed, created_at)
SELECT c.tenant_id, c.conversation_id, n, gen_random_uuid(), c.tree_id, 'ana', 'history', 'history',
  json_build_array(json_build_object('role', 'USER', 'text', 'Message ' || n || ' of the nightly report, as usual.')),
  false, c.created_at + n * interval '1 millisecond'
FROM conversations AS c CROSS JOIN generate_series(1, $3) AS n WHERE c.tenant_id = $1 AND c.conversation_id = ANY ($2)
"""
_SAID: Final = """
WITH said AS (
  SELECT * FROM unnest($2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::text[])
    AS s (id, seq, entry_id, text, words)
), entry AS (
  INSERT INTO conversation_entries (
    tenant_id, conversation_id, seq, entry_id, tree_id, user_id, channel, content_type, content, is_indexed, created_at)
  SELECT c.tenant_id, s.id, s.seq, s.entry_id, c.tree_id, 'ana', 'history', 'history',
    json_build_array(json_build_object('role', 'USER', 'text', s.text)), true,
    c.created_at + s.seq * interval '1 millisecond'
  FROM said AS s JOIN conversations AS c ON c.tenant_id = $1 AND c.conversation_id = s.id
  RETURNING *
), found_by AS (
  INSERT INTO conversation_texts (
    tenant_id, conversation_id, seq, entry_id, tree_id, creator, role, text, words, embedding_version, said_at,
    created_at, changed_at)
  SELECT $1, e.conversation_id, e.seq, e.entry_id, e.tree_id, t.creator, 'USER', s.text, conversation_words(s.words),
    $7, e.created_at, e.created_at, e.created_at
  FROM entry AS e JOIN said AS s USING (entry_id) JOIN conversation_trees AS t USING (tenant_id, tree_id)
)
INSERT INTO conversations_indexing_outbox (outbox_id, subject_id, op, embedding_version, status)
SELECT gen_random_uuid(), s.entry_id, 'UPSERT', $7, 'PENDING' FROM said AS s
"""
_COUNTED: Final = """
UPDATE conversations AS c SET last_seq = e.seq, last_entry_at = e.created_at FROM (
  SELECT DISTINCT ON (conversation_id) conversation_id, seq, created_at FROM conversation_entries
  WHERE tenant_id = $1 AND conversation_id = ANY ($2) ORDER BY conversation_id, seq DESC) AS e
WHERE c.tenant_id = $1 AND c.conversation_id = e.conversation_id
"""


async def trees(connection: Connection, user: str, count: int) -> list[UUID]:
    """Begin trees, and return the ids of their first conversations, which are theirs."""
    ids = [uuid4() for _ in range(count)]
    await connection.execute(_TREES, TENANT, ids, user, timeout=PATIENCE_S)
    return ids


async def fork(connection: Connection, parent: UUID, seq: int) -> UUID:
    """Fork a conversation behind one of its own entries."""
    id = uuid4()
    await connection.execute(_FORK, TENANT, parent, id, seq)
    return id


async def share(connection: Connection, ids: Sequence[UUID], user: str) -> None:
    """Make a user a reader of trees."""
    await connection.execute(_SHARES, TENANT, list(ids), user, timeout=PATIENCE_S)


async def write(connection: Connection, ids: Sequence[UUID], count: int) -> None:
    """Write so many entries to each conversation, which has none yet; no text is there to find them by."""
    await connection.execute(_ENTRIES, TENANT, list(ids), count, timeout=PATIENCE_S)
    await connection.execute(_COUNTED, TENANT, list(ids), timeout=PATIENCE_S)


async def say(connection: Connection, ids: Sequence[UUID], texts: Sequence[str], *, version: str) -> None:
    """Write texts to conversations that have no entry yet, in turns; they wait to be indexed."""
    where = [ids[place % len(ids)] for place in range(len(texts))]
    seqs = [1 + place // len(ids) for place in range(len(texts))]
    await connection.execute(
        _SAID, TENANT, where, seqs, [uuid4() for _ in texts], list(texts), [spaced(text) for text in texts], version,
        timeout=PATIENCE_S,
    )  # fmt: skip
    await connection.execute(_COUNTED, TENANT, list(ids), timeout=PATIENCE_S)
