-- Erasing, exporting and taking in all notes of a tenant, of a project, or of an agent.

-- name: next_project
-- The first project behind $2 that a tenant has notes in.
SELECT n.project_id FROM memory_notes AS n WHERE n.tenant_id = $1 AND n.project_id > $2 ORDER BY n.project_id LIMIT 1;

-- name: lock_subject_notes
-- Locks the next $6 notes of a project, or of its agent $3, behind the place ($4, $5), whatever their status. The ones that
-- were changed longest ago come first: one that is changed meanwhile is met again. They are locked in the order of their
-- ids. Returns their places, too.
WITH page AS MATERIALIZED (
  SELECT n.note_id, n.updated_at
  FROM memory_notes AS n
  WHERE n.tenant_id = $1 AND n.project_id = $2 AND ($3::text IS NULL OR n.agent_id = $3)
    AND (n.updated_at, n.note_id) > ($4::timestamptz, $5::uuid)
  ORDER BY n.updated_at, n.note_id
  LIMIT $6
)
SELECT n.note_id, n.embedding_version, p.updated_at
FROM (SELECT o.note_id, o.updated_at FROM page AS o ORDER BY o.note_id) AS p
CROSS JOIN LATERAL (
  SELECT m.note_id, m.embedding_version FROM memory_notes AS m WHERE m.note_id = p.note_id FOR UPDATE) AS n;

-- name: erase_notes
-- Removes locked notes as purge_notes does, with their history. The index is told by a DELETE job, which has no word of
-- the note. Runs after the locks, so it sees what their last holders wrote.
WITH notes AS (
  DELETE FROM memory_notes WHERE note_id = ANY ($1::uuid[])
), versions AS (
  DELETE FROM memory_note_versions WHERE note_id = ANY ($1::uuid[]) RETURNING 1
), hits AS (
  DELETE FROM memory_hits WHERE note_id = ANY ($1::uuid[]) RETURNING 1
), traced AS (
  DELETE FROM search_trace_items WHERE note_id = ANY ($1::uuid[])
), decisions AS (
  DELETE FROM memory_ingest_decisions WHERE note_id = ANY ($1::uuid[]) RETURNING 1
), matches AS (
  UPDATE memory_ingest_decisions SET matched_note_id = NULL
  WHERE matched_note_id = ANY ($1::uuid[]) AND matched_note_id <> note_id AND NOT note_id = ANY ($1::uuid[])
), jobs AS (
  INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)
  SELECT gen_random_uuid(), t.note_id, 'DELETE', t.embedding_version, 'PENDING'
  FROM unnest($1::uuid[], $2::text[]) AS t (note_id, embedding_version)
), ended AS (
  DELETE FROM indexing_outbox WHERE note_id = ANY ($1::uuid[]) AND status IN ('GIVEN_UP', 'DISCARDED')
)
SELECT cardinality($1::uuid[]) AS notes, (SELECT count(*) FROM versions) AS versions,
  (SELECT count(*) FROM hits) AS hits, (SELECT count(*) FROM decisions) AS decisions;

-- name: erase_purged_notes
-- Removes what is left of up to $4 notes of a tenant that were purged: of a project ($2), an agent ($3), or all.
WITH purged AS MATERIALIZED (
  SELECT v.note_id
  FROM memory_note_versions AS v
  WHERE v.op = 'PURGE' AND v.prev_snapshot ->> 'tenant_id' = $1
    AND ($2::text IS NULL OR v.prev_snapshot ->> 'project_id' = $2)
    AND ($3::text IS NULL OR v.prev_snapshot ->> 'agent_id' = $3)
  LIMIT $4
)
DELETE FROM memory_note_versions AS v USING purged AS p WHERE v.note_id = p.note_id RETURNING 1;

-- name: erase_decisions
-- Removes the decisions of a project ($2), an agent ($3), or all, from a page of $5 of a tenant's, behind the id $4.
-- Returns how many went, and the last of the page, which is null behind the last page.
WITH page AS MATERIALIZED (
  SELECT d.decision_id, d.project_id, d.agent_id
  FROM memory_ingest_decisions AS d
  WHERE d.tenant_id = $1 AND d.decision_id > $4
  ORDER BY d.decision_id
  LIMIT $5
), gone AS (
  DELETE FROM memory_ingest_decisions WHERE decision_id = ANY (ARRAY(
    SELECT p.decision_id FROM page AS p
    WHERE ($2::text IS NULL OR p.project_id = $2) AND ($3::text IS NULL OR p.agent_id = $3)))
  RETURNING 1
)
SELECT (SELECT count(*) FROM gone) AS gone, (SELECT max(p.decision_id) FROM page AS p) AS last;

-- name: erase_trace_jobs
-- Removes traces of searches in a project ($2), by an agent ($3), or all, that wait to be stored; up to $4.
DELETE FROM search_trace_outbox WHERE outbox_id = ANY (ARRAY(
  SELECT o.outbox_id
  FROM search_trace_outbox AS o
  WHERE o.status IN ('PENDING', 'FAILED') AND coalesce(o.payload ->> 'family', 'notes') = 'notes'
    AND o.payload ->> 'tenant_id' = $1 AND ($2::text IS NULL OR o.payload ->> 'project_id' = $2)
    AND ($3::text IS NULL OR o.payload ->> 'agent_id' = $3)
  LIMIT $4
  FOR UPDATE))
RETURNING 1;

-- name: erase_traces
-- Removes those that are stored, with their results.
DELETE FROM search_traces WHERE trace_id = ANY (ARRAY(
  SELECT t.trace_id
  FROM search_traces AS t
  WHERE t.tenant_id = $1 AND t.family = 'notes' AND ($2::text IS NULL OR t.project_id = $2)
    AND ($3::text IS NULL OR t.agent_id = $3)
  LIMIT $4))
RETURNING 1;

-- name: erase_expansions
-- Removes up to $1 answers that are kept of a model which was asked to reword queries: nothing tells whose these were.
DELETE FROM llm_cache WHERE cache_id = ANY (ARRAY(
  SELECT c.cache_id FROM llm_cache AS c WHERE c.cache_kind = 'expansion' LIMIT $1))
RETURNING 1;

-- name: export_notes
-- The next notes of a project, in the order of lock_subject_notes: $6 at most, and fewer of large ones.
SELECT p.*
FROM (
  SELECT s.*, sum(length(s.source_ref::text)) OVER place - length(s.source_ref::text) AS chars_before
  FROM (
    SELECT n.*, sum(pg_column_size(n.source_ref)) OVER place - pg_column_size(n.source_ref) AS bytes_before
    FROM memory_notes AS n
    WHERE n.tenant_id = $1 AND n.project_id = $2 AND ($3::text IS NULL OR n.agent_id = $3)
      AND (n.updated_at, n.note_id) > ($4::timestamptz, $5::uuid)
    WINDOW place AS (ORDER BY n.updated_at, n.note_id)
    ORDER BY n.updated_at, n.note_id LIMIT $6
  ) AS s
  WHERE s.bytes_before < 4194304 WINDOW place AS (ORDER BY s.updated_at, s.note_id)
) AS p
WHERE p.chars_before < 4194304 ORDER BY p.updated_at, p.note_id;

-- name: export_versions
-- The next versions of notes, behind the version $3 of the note $2, note by note and in their order: $4 at most, and fewer
-- of large ones.
SELECT p.*
FROM (
  SELECT s.*, sum(z.chars) OVER place - z.chars AS chars_before
  FROM (
    SELECT v.*, sum(b.bytes) OVER place - b.bytes AS bytes_before
    FROM memory_note_versions AS v CROSS JOIN LATERAL (
      SELECT coalesce(pg_column_size(v.prev_snapshot), 0) + coalesce(pg_column_size(v.new_snapshot), 0) AS bytes
    ) AS b
    WHERE v.note_id = ANY ($1::uuid[]) AND (v.note_id, v.ts) > ($2::uuid, $3::timestamptz)
    WINDOW place AS (ORDER BY v.note_id, v.ts)
    ORDER BY v.note_id, v.ts LIMIT $4
  ) AS s CROSS JOIN LATERAL (
    SELECT coalesce(length(s.prev_snapshot::text), 0) + coalesce(length(s.new_snapshot::text), 0) AS chars
  ) AS z
  WHERE s.bytes_before < 4194304 WINDOW place AS (ORDER BY s.note_id, s.ts)
) AS p
WHERE p.chars_before < 4194304 ORDER BY p.note_id, p.ts;

-- name: export_decisions
-- The next $3 decisions about notes, behind the id $2.
SELECT d.*
FROM memory_ingest_decisions AS d
WHERE d.note_id = ANY ($1::uuid[]) AND d.decision_id > $2
ORDER BY d.decision_id
LIMIT $3;

-- name: export_note_sources
-- Where else notes were said, behind the conversation $3 of the note $2: $4 at most, and fewer of large ones.
SELECT p.*
FROM (
  SELECT s.*, sum(length(s.source_ref::text)) OVER place - length(s.source_ref::text) AS chars_before
  FROM (
    SELECT o.*, sum(pg_column_size(o.source_ref)) OVER place - pg_column_size(o.source_ref) AS bytes_before
    FROM memory_note_sources AS o
    WHERE o.note_id = ANY ($1::uuid[]) AND (o.note_id, o.thread) > ($2::uuid, $3::text)
    WINDOW place AS (ORDER BY o.note_id, o.thread)
    ORDER BY o.note_id, o.thread LIMIT $4
  ) AS s
  WHERE s.bytes_before < 4194304 WINDOW place AS (ORDER BY s.note_id, s.thread)
) AS p
WHERE p.chars_before < 4194304 ORDER BY p.note_id, p.thread;

-- name: lock_intake
-- Waits until nobody else takes notes in, of whatever tenant, and keeps others from it until the transaction ends: of two
-- tenants that take the same ids in at once, one has to be given others.
SELECT pg_advisory_xact_lock(hashtextextended('notes are taken in', 0));

-- name: notes_of_others
-- Those of the notes that another tenant has.
SELECT n.note_id FROM memory_notes AS n WHERE n.note_id = ANY ($2::uuid[]) AND n.tenant_id <> $1;

-- name: known_notes
-- Those of the notes that are here, or were until they were purged.
SELECT n.note_id FROM memory_notes AS n WHERE n.note_id = ANY ($1::uuid[])
UNION
SELECT v.note_id FROM memory_note_versions AS v WHERE v.note_id = ANY ($1::uuid[]) AND v.op = 'PURGE';

-- name: take_in_notes
-- Adds notes that are not known; returns those that were added: not those whose key another active note has.
INSERT INTO memory_notes (
  note_id, tenant_id, project_id, agent_id, scope, type, key, text, importance, confidence, status, created_at,
  updated_at, expires_at, requested_ttl_days, embedding_version, source_ref, hit_count, last_hit_at)
SELECT * FROM unnest(
  $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::real[],
  $10::real[], $11::text[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::double precision[],
  $16::text[], $17::jsonb[], $18::bigint[], $19::timestamptz[])
ON CONFLICT DO NOTHING
RETURNING note_id;

-- name: take_in_versions
-- Adds versions of notes of a tenant that are not there, as far as the notes have come here. Returns them.
INSERT INTO memory_note_versions (version_id, note_id, op, prev_snapshot, new_snapshot, reason, actor, ts)
SELECT t.version_id, t.note_id, t.op, t.prev_snapshot, t.new_snapshot, t.reason, t.actor, t.ts
FROM unnest(
  $2::uuid[], $3::uuid[], $4::text[], $5::jsonb[], $6::jsonb[], $7::text[], $8::text[], $9::timestamptz[]) AS t (
  version_id, note_id, op, prev_snapshot, new_snapshot, reason, actor, ts)
JOIN memory_notes AS n ON n.note_id = t.note_id AND n.tenant_id = $1 AND t.ts <= n.updated_at
ON CONFLICT (version_id) DO NOTHING
RETURNING version_id;

-- name: take_in_decisions
-- Adds decisions about notes of a tenant, in the given order, that are not there: the $5th of a moment is, where there are
-- as many of that moment. Returns them.
WITH known AS MATERIALIZED (
  SELECT d.note_id, d.ts, count(*) AS many
  FROM memory_ingest_decisions AS d WHERE d.note_id = ANY ($2::uuid[]) GROUP BY d.note_id, d.ts
)
INSERT INTO memory_ingest_decisions (
  tenant_id, project_id, agent_id, note_id, ts, actor, policy, scope, type, keyed, text_chars, op, reason_code, reason,
  similarity, matched_note_id, dropped_text)
SELECT n.tenant_id, n.project_id, n.agent_id, t.note_id, t.ts, t.actor, t.policy, t.scope, t.type, t.keyed, t.text_chars,
  t.op, t.reason_code, t.reason, t.similarity, t.matched_note_id, t.dropped_text
FROM unnest(
  $2::uuid[], $3::timestamptz[], $4::text[], $5::int[], $6::jsonb[], $7::text[], $8::text[], $9::boolean[], $10::int[],
  $11::text[], $12::text[], $13::text[], $14::real[], $15::uuid[], $16::text[]) WITH ORDINALITY AS t (
  note_id, ts, actor, nth, policy, scope, type, keyed, text_chars, op, reason_code, reason, similarity,
  matched_note_id, dropped_text, place)
JOIN memory_notes AS n ON n.note_id = t.note_id AND n.tenant_id = $1
LEFT JOIN known AS k ON k.note_id = t.note_id AND k.ts = t.ts
WHERE t.nth > coalesce(k.many, 0)
ORDER BY t.place
RETURNING decision_id;

-- name: take_in_note_sources
-- Adds where else notes of a tenant were said, as far as the notes have come here and have said the same since. Returns
-- whose they are.
INSERT INTO memory_note_sources (note_id, thread, source_ref, created_at)
SELECT DISTINCT ON (t.note_id, t.thread) t.note_id, t.thread, t.source_ref, t.created_at
FROM unnest($2::uuid[], $3::text[], $4::jsonb[], $5::timestamptz[]) AS t (note_id, thread, source_ref, created_at)
JOIN memory_notes AS n ON n.note_id = t.note_id AND n.tenant_id = $1
  AND coalesce(n.source_ref ->> 'thread', '') <> t.thread
WHERE NOT EXISTS (
  SELECT FROM memory_note_versions AS v
  WHERE v.note_id = t.note_id AND v.ts > t.created_at
    AND v.prev_snapshot ->> 'text' <> v.new_snapshot ->> 'text')
ORDER BY t.note_id, t.thread, t.created_at
ON CONFLICT (note_id, thread) DO NOTHING
RETURNING note_id;
