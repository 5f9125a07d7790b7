-- Erasures over all families, their receipts, and the search for what is left.

-- name: unfinished_erasures
-- Who is being erased, or was until that was broken off.
SELECT e.tenant_id, e.kind, e.name FROM memory_erasures AS e ORDER BY e.began_at;

-- name: begin_erasure
-- Begins an erasure, or goes on with one that was broken off: conversations that were known then are known.
INSERT INTO memory_erasures AS e (tenant_id, kind, name, receipt_id, conversations, began_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (tenant_id, kind, name) DO UPDATE SET conversations = ARRAY(
  SELECT DISTINCT c.c FROM unnest(e.conversations || excluded.conversations) AS c (c) ORDER BY c.c)
RETURNING e.receipt_id, e.conversations, e.erased, e.began_at;

-- name: wait_for_writers_from_conversations
-- Waits for those who looked, before this transaction, which conversations belong to somebody who is being erased, and write
-- what is from one; who looks later sees what this transaction says (sql/graph/004-erasing.sql).
SELECT pg_advisory_xact_lock(owner_lock($1, 'conversations', $1));

-- name: tell_erased
-- Tells what went so far.
UPDATE memory_erasures AS e SET erased = $4 WHERE e.tenant_id = $1 AND e.kind = $2 AND e.name = $3;

-- name: end_erasure
-- Ends an erasure: nobody is named any more.
DELETE FROM memory_erasures AS e WHERE e.tenant_id = $1 AND e.kind = $2 AND e.name = $3;

-- name: drop_erasures_of_tenant
-- Removes what was broken off of a tenant that is erased whole.
DELETE FROM memory_erasures AS e WHERE e.tenant_id = $1 AND e.kind <> 'tenant';

-- name: keep_receipt
-- Keeps a receipt.
INSERT INTO memory_receipts (receipt_id, receipt, made_at) VALUES ($1, $2, $3);

-- name: read_receipt
-- Reads a receipt of whoever has a hash ($2).
SELECT r.receipt FROM memory_receipts AS r WHERE r.receipt_id = $1 AND r.receipt ->> 'subject' = $2;

-- name: make_receipt_key
-- Makes the key of receipts, unless there is one.
INSERT INTO memory_receipt_keys (key, made_at) VALUES ($1, $2) ON CONFLICT DO NOTHING;

-- name: read_receipt_key
-- Reads the key of receipts.
SELECT k.key FROM memory_receipt_keys AS k;

-- name: said_conversations
-- Names the conversations that a user, and nobody else of the tenant, has said something in.
SELECT n.name
FROM memory_said AS s
CROSS JOIN LATERAL (VALUES (s.conversation), (s.conversation_id::text)) AS n (name)
WHERE s.tenant_id = $1
GROUP BY n.name
HAVING bool_and(s.user_id IS NOT DISTINCT FROM $2);

-- name: columns_with_texts
-- Lists the columns of all tables that may hold text, those of partitions by their table, each with the expression of its
-- text, and whether the table says whose its rows are. Of others whose rows belong to something that says it, with the
-- expression of that tenant: it is null where that is gone.
SELECT
  n.nspname || '.' || c.relname AS table_name, format('%I.%I', n.nspname, c.relname) AS quoted, a.attname AS column_name,
  CASE
    WHEN t.typname = 'bytea' THEN format('encode(x.%I, ''escape'')', a.attname)
    ELSE format('x.%I::text', a.attname)
  END AS expression,
  t.typname = 'bytea' AS is_bytes,
  EXISTS (
    SELECT FROM pg_attribute AS o WHERE o.attrelid = c.oid AND o.attname = 'tenant_id' AND NOT o.attisdropped
  ) AS has_tenant,
  w.tenant
FROM pg_class AS c
JOIN pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN (
  VALUES
  ('memory_note_chunks', '(SELECT n.tenant_id FROM memory_notes AS n WHERE n.note_id = x.note_id)'),
  ('memory_note_sources', '(SELECT n.tenant_id FROM memory_notes AS n WHERE n.note_id = x.note_id)'),
  ('memory_note_versions', 'coalesce((SELECT n.tenant_id FROM memory_notes AS n WHERE n.note_id = x.note_id),
    x.prev_snapshot ->> ''tenant_id'', x.new_snapshot ->> ''tenant_id'')'),
  ('search_trace_items', '(SELECT t.tenant_id FROM search_traces AS t WHERE t.trace_id = x.trace_id)'),
  ('search_trace_outbox', 'x.payload ->> ''tenant_id'''),
  ('chore_runs', 'CASE WHEN x.subject LIKE ''["%'' THEN x.subject::jsonb ->> 0 END')
) AS w (name, tenant) ON w.name = c.relname
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type AS t ON t.oid = a.atttypid
WHERE c.relkind IN ('r', 'p', 'm') AND NOT c.relispartition AND n.nspname NOT IN ('pg_catalog', 'information_schema')
  AND n.nspname NOT LIKE 'pg_toast%' AND n.nspname NOT LIKE 'pg_temp%'
  AND (t.typcategory IN ('S', 'A') OR t.typname IN ('json', 'jsonb', 'bytea', 'tsvector', 'uuid', 'xml'))
  AND t.typname NOT IN ('_float4', '_float8', '_int4', '_int8')
ORDER BY 1, a.attnum;
