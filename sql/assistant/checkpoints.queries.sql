-- Checkpoints of graphs: $1 and $2 are tenant and user in each.

-- name: lock_saver_thread
-- Keeps others from deleting of a thread until the transaction ends.
SELECT pg_advisory_xact_lock_shared(hashtextextended(concat_ws(E'\x1f', 'saver', $1::text, $2::text, $3::text), 0));

-- name: lock_saver_threads_alone
-- Keeps others from writing checkpoints to these threads until the transaction ends.
SELECT pg_advisory_xact_lock(key) FROM (
  SELECT DISTINCT hashtextextended(concat_ws(E'\x1f', 'saver', $1::text, $2::text, thread_id), 0) AS key
  FROM unnest($3::text[]) AS thread_id ORDER BY key
) AS keys;

-- name: lock_first_checkpoint
-- Has those who would write the first checkpoint of a thread do so one after the other. Comes after lock_saver_thread.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(E'\x1f', 'saver first', $1::text, $2::text, $3::text), 0));

-- name: agents_of_saver_threads
-- Finds to which agent each of these threads belongs that has a checkpoint; null: to none.
SELECT t.thread_id, c.agent_id FROM unnest($3::text[]) AS t (thread_id)
CROSS JOIN LATERAL (
  SELECT s.agent_id FROM saver_checkpoints AS s
  WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.thread_id = t.thread_id LIMIT 1
) AS c;

-- name: put_saver_checkpoint
-- Writes a checkpoint of a thread that belongs to the agent $17, with the values that are new; once more, it takes the
-- place of what was there. The bytes are taken from their array one by one: unnest() would copy all of them once more.
WITH blobs AS (
  INSERT INTO saver_blobs (tenant_id, user_id, thread_id, checkpoint_ns, channel, version, type, data)
  SELECT $1, $2, $3, $4, b.channel, b.version, b.type, ($16::bytea[])[b.place]
  FROM unnest($13::text[], $14::text[], $15::text[]) WITH ORDINALITY AS b (channel, version, type, place)
  ON CONFLICT (tenant_id, user_id, thread_id, checkpoint_ns, channel, version)
  DO UPDATE SET type = excluded.type, data = excluded.data
)
INSERT INTO saver_checkpoints (
  tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, parent_id, checkpoint_type, checkpoint, metadata_type,
  metadata, facts, versions, agent_id
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $17)
ON CONFLICT (tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id) DO UPDATE SET
  parent_id = excluded.parent_id, checkpoint_type = excluded.checkpoint_type, checkpoint = excluded.checkpoint,
  metadata_type = excluded.metadata_type, metadata = excluded.metadata, facts = excluded.facts,
  versions = excluded.versions;

-- name: put_supervisor_checkpoint
-- Writes what the newest checkpoint of the root namespace says, with the newest one of each other namespace.
INSERT INTO supervisor_checkpoints (tenant_id, user_id, thread_id, checkpoint_id, checkpoint_data)
SELECT $1, $2, $3, $4, $5::jsonb || jsonb_build_object('agent_states', coalesce((
  SELECT jsonb_object_agg(n.checkpoint_ns, n.state) FROM (
    SELECT DISTINCT ON (c.checkpoint_ns) c.checkpoint_ns,
      jsonb_build_object('checkpoint_id', c.checkpoint_id, 'step', c.facts -> 'step', 'ts', c.created_at) AS state
    FROM saver_checkpoints AS c
    WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = $3 AND c.checkpoint_ns > ''
    ORDER BY c.checkpoint_ns, c.checkpoint_id DESC
  ) AS n
), '{}'::jsonb))
ON CONFLICT (tenant_id, user_id, thread_id) DO UPDATE SET
  checkpoint_id = excluded.checkpoint_id, checkpoint_data = excluded.checkpoint_data, updated_at = now()
WHERE supervisor_checkpoints.checkpoint_id IS NULL OR supervisor_checkpoints.checkpoint_id <= excluded.checkpoint_id;

-- name: put_agent_state
-- Tells the newest checkpoint of a namespace below the root to the row of its thread, where there is one.
UPDATE supervisor_checkpoints AS s SET updated_at = now(), checkpoint_data = jsonb_set(
  s.checkpoint_data, ARRAY['agent_states', $4::text],
  jsonb_build_object('checkpoint_id', $5::text, 'step', $6::jsonb -> 'step', 'ts', now())
)
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.thread_id = $3 AND s.checkpoint_id IS NOT NULL
  AND coalesce(s.checkpoint_data #>> ARRAY['agent_states', $4::text, 'checkpoint_id'], '') COLLATE "C" <= $5::text;

-- name: put_saver_writes
-- Writes what a task wrote. What has an index of its own is written once; of the others the last one counts.
INSERT INTO saver_writes (
  tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, data
)
SELECT $1, $2, $3, $4, $5, $6, $7, w.idx, w.channel, w.type, w.data
FROM unnest($8::integer[], $9::text[], $10::text[], $11::bytea[]) AS w (idx, channel, type, data)
ON CONFLICT (tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx) DO UPDATE SET
  task_path = excluded.task_path, channel = excluded.channel, type = excluded.type, data = excluded.data
WHERE saver_writes.idx < 0;

-- name: find_saver_checkpoints
-- Finds at most $11 checkpoints, newest first, and how large each is: of the thread $3, the namespace $4, the id $5 where
-- they are given, before the id $6, after the place $7, $8, $9 in the list, with all that $10 says of their metadata.
SELECT c.thread_id, c.checkpoint_ns, c.checkpoint_id,
  octet_length(c.checkpoint) + octet_length(c.metadata) + coalesce((
    SELECT sum(octet_length(b.data)) FROM jsonb_each_text(c.versions) AS v
    JOIN saver_blobs AS b ON b.tenant_id = c.tenant_id AND b.user_id = c.user_id AND b.thread_id = c.thread_id
      AND b.checkpoint_ns = c.checkpoint_ns AND b.channel = v.key AND b.version = v.value
  ), 0) + coalesce((
    SELECT sum(octet_length(w.data)) FROM saver_writes AS w
    WHERE w.tenant_id = c.tenant_id AND w.user_id = c.user_id AND w.thread_id = c.thread_id
      AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id
  ), 0) AS bytes
FROM saver_checkpoints AS c
WHERE c.tenant_id = $1 AND c.user_id = $2
  AND ($3::text IS NULL OR c.thread_id = $3)
  AND ($4::text IS NULL OR c.checkpoint_ns = $4)
  AND ($5::text IS NULL OR c.checkpoint_id = $5)
  AND ($6::text IS NULL OR c.checkpoint_id < $6)
  AND ($7::text IS NULL OR (c.checkpoint_id, c.thread_id, c.checkpoint_ns) < ($7, $8::text, $9::text))
  AND NOT EXISTS (
    SELECT FROM (SELECT c.facts || '{}' AS whole WHERE $10::jsonb <> '{}' OFFSET 0) AS w  -- read once for all of them
    CROSS JOIN jsonb_each($10::jsonb) AS f WHERE coalesce(w.whole -> f.key, 'null'::jsonb) <> f.value
  )
ORDER BY c.checkpoint_id DESC, c.thread_id DESC, c.checkpoint_ns DESC
LIMIT $11;

-- name: load_saver_checkpoints
-- Reads checkpoints with the values of their channels and what was written after them, all as of one moment: those of
-- threads, namespaces and ids, where null is the newest. No id is greater than the one that stands in for null. `bytes`
-- is how large they are together; nothing of them is read where that is more than $6.
WITH chosen AS MATERIALIZED (
  SELECT c.*, k.place
  FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS k (thread_id, checkpoint_ns, checkpoint_id, place)
  CROSS JOIN LATERAL (
    SELECT n.* FROM saver_checkpoints AS n
    WHERE n.tenant_id = $1 AND n.user_id = $2 AND n.thread_id = k.thread_id AND n.checkpoint_ns = k.checkpoint_ns
      AND n.checkpoint_id <= coalesce(k.checkpoint_id, repeat(chr(1114111), 128))
    ORDER BY n.checkpoint_id DESC LIMIT 1
  ) AS c
  WHERE k.checkpoint_id IS NULL OR c.checkpoint_id = k.checkpoint_id
), size AS MATERIALIZED (
  SELECT sum(octet_length(c.checkpoint) + octet_length(c.metadata) + coalesce((
    SELECT sum(octet_length(b.data)) FROM jsonb_each_text(c.versions) AS v
    JOIN saver_blobs AS b ON b.tenant_id = $1 AND b.user_id = $2 AND b.thread_id = c.thread_id
      AND b.checkpoint_ns = c.checkpoint_ns AND b.channel = v.key AND b.version = v.value
  ), 0) + coalesce((
    SELECT sum(octet_length(w.data)) FROM saver_writes AS w
    WHERE w.tenant_id = $1 AND w.user_id = $2 AND w.thread_id = c.thread_id AND w.checkpoint_ns = c.checkpoint_ns
      AND w.checkpoint_id = c.checkpoint_id
  ), 0)) AS bytes
  FROM chosen AS c
)
SELECT c.place, 0 AS kind, c.thread_id, c.checkpoint_ns, c.checkpoint_id, c.parent_id, '' AS channel,
  c.checkpoint_type AS type, CASE WHEN s.bytes <= $6 THEN c.checkpoint ELSE '' END AS data, c.metadata_type,
  CASE WHEN s.bytes <= $6 THEN c.metadata ELSE '' END AS metadata, '' AS task_id, '' AS task_path, 0 AS idx, s.bytes
FROM chosen AS c CROSS JOIN size AS s
UNION ALL
SELECT c.place, 1, '', '', '', NULL, b.channel, b.type, b.data, '', '', '', '', 0, s.bytes
FROM chosen AS c JOIN size AS s ON s.bytes <= $6 CROSS JOIN jsonb_each_text(c.versions) AS v
JOIN saver_blobs AS b ON b.tenant_id = $1 AND b.user_id = $2 AND b.thread_id = c.thread_id
  AND b.checkpoint_ns = c.checkpoint_ns AND b.channel = v.key AND b.version = v.value AND b.type <> 'empty'
UNION ALL
SELECT c.place, 2, '', '', '', NULL, w.channel, w.type, w.data, '', '', w.task_id, w.task_path, w.idx, s.bytes
FROM chosen AS c JOIN size AS s ON s.bytes <= $6
JOIN saver_writes AS w ON w.tenant_id = $1 AND w.user_id = $2 AND w.thread_id = c.thread_id
  AND w.checkpoint_ns = c.checkpoint_ns AND w.checkpoint_id = c.checkpoint_id;

-- name: size_of_saver_checkpoint
-- Tells how many bytes a checkpoint has with the values of its channels and what was written after it.
SELECT coalesce((
  SELECT octet_length(c.checkpoint) + octet_length(c.metadata) + coalesce((
    SELECT sum(octet_length(b.data)) FROM jsonb_each_text(c.versions) AS v
    JOIN saver_blobs AS b ON b.tenant_id = $1 AND b.user_id = $2 AND b.thread_id = $3 AND b.checkpoint_ns = $4
      AND b.channel = v.key AND b.version = v.value
  ), 0)
  FROM saver_checkpoints AS c
  WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = $3 AND c.checkpoint_ns = $4 AND c.checkpoint_id = $5
), 0) + coalesce((
  SELECT sum(octet_length(w.data)) FROM saver_writes AS w
  WHERE w.tenant_id = $1 AND w.user_id = $2 AND w.thread_id = $3 AND w.checkpoint_ns = $4 AND w.checkpoint_id = $5
), 0) AS bytes;

-- name: owners_of_saver_threads
-- Finds whose these threads are in tenant $1: two users at most.
SELECT DISTINCT c.user_id FROM saver_checkpoints AS c
WHERE c.tenant_id = $1 AND c.thread_id = ANY($2::text[]) LIMIT 2;

-- name: owners_of_saver_runs
-- Finds whose these runs are in tenant $1: two users at most.
SELECT DISTINCT c.user_id FROM saver_checkpoints AS c
WHERE c.tenant_id = $1 AND c.facts ->> 'run_id' = ANY($2::text[]) LIMIT 2;

-- name: threads_of_saver_runs
-- Finds the threads that runs have checkpoints in.
SELECT DISTINCT c.thread_id FROM saver_checkpoints AS c
WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.facts ->> 'run_id' = ANY($3::text[]);

-- name: delete_saver_threads
-- Deletes all of some threads.
WITH blobs AS (
  DELETE FROM saver_blobs WHERE tenant_id = $1 AND user_id = $2 AND thread_id = ANY($3::text[])
), writes AS (
  DELETE FROM saver_writes WHERE tenant_id = $1 AND user_id = $2 AND thread_id = ANY($3::text[])
), supervisor AS (
  DELETE FROM supervisor_checkpoints
  WHERE tenant_id = $1 AND user_id = $2 AND thread_id = ANY($3::text[]) AND checkpoint_id IS NOT NULL
)
DELETE FROM saver_checkpoints WHERE tenant_id = $1 AND user_id = $2 AND thread_id = ANY($3::text[]);

-- name: delete_saver_runs
-- Deletes the checkpoints of some runs; what they alone made use of is swept afterwards.
DELETE FROM saver_checkpoints AS c
WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.facts ->> 'run_id' = ANY($3::text[]);

-- name: prune_saver_threads
-- Deletes all checkpoints of threads but the newest of each namespace, and those before it without which a channel that
-- keeps only its changes could not be put together: back to the nearest that has a value of it.
WITH RECURSIVE newest AS (
  SELECT DISTINCT ON (c.thread_id, c.checkpoint_ns) c.* FROM saver_checkpoints AS c
  WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = ANY($3::text[])
  ORDER BY c.thread_id, c.checkpoint_ns, c.checkpoint_id DESC
), kept AS (
  SELECT n.thread_id, n.checkpoint_ns, n.checkpoint_id, n.parent_id, ARRAY(
    SELECT j.channel FROM jsonb_object_keys(CASE jsonb_typeof(n.facts -> 'counters_since_delta_snapshot')
      WHEN 'object' THEN n.facts -> 'counters_since_delta_snapshot' ELSE '{}'::jsonb END) AS j (channel)
    WHERE NOT EXISTS (
      SELECT FROM saver_blobs AS b WHERE b.tenant_id = $1 AND b.user_id = $2 AND b.thread_id = n.thread_id
        AND b.checkpoint_ns = n.checkpoint_ns AND b.channel = j.channel AND b.version = n.versions ->> j.channel
        AND b.type <> 'empty'
    )
  ) AS missing
  FROM newest AS n
  UNION ALL
  SELECT p.thread_id, p.checkpoint_ns, p.checkpoint_id, p.parent_id, ARRAY(
    SELECT m.channel FROM unnest(k.missing) AS m (channel)
    WHERE NOT EXISTS (
      SELECT FROM saver_blobs AS b WHERE b.tenant_id = $1 AND b.user_id = $2 AND b.thread_id = p.thread_id
        AND b.checkpoint_ns = p.checkpoint_ns AND b.channel = m.channel AND b.version = p.versions ->> m.channel
        AND b.type <> 'empty'
    )
  )
  FROM kept AS k
  JOIN saver_checkpoints AS p ON p.tenant_id = $1 AND p.user_id = $2 AND p.thread_id = k.thread_id
    AND p.checkpoint_ns = k.checkpoint_ns AND p.checkpoint_id = k.parent_id AND p.checkpoint_id < k.checkpoint_id
  WHERE cardinality(k.missing) > 0
)
DELETE FROM saver_checkpoints AS c
WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = ANY($3::text[]) AND NOT EXISTS (
  SELECT FROM kept AS k WHERE k.thread_id = c.thread_id AND k.checkpoint_ns = c.checkpoint_ns
    AND k.checkpoint_id = c.checkpoint_id
);

-- name: sweep_saver_threads
-- Deletes of threads the values and writes that no checkpoint has any more. What is told of a checkpoint that is gone goes;
-- the newest one that is left is told instead, whose channels only a graph can read: they are named in `left_out`.
WITH blobs AS (
  DELETE FROM saver_blobs AS b
  WHERE b.tenant_id = $1 AND b.user_id = $2 AND b.thread_id = ANY($3::text[]) AND NOT EXISTS (
    SELECT FROM saver_checkpoints AS c WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = b.thread_id
      AND c.checkpoint_ns = b.checkpoint_ns AND c.versions ->> b.channel = b.version
  )
), writes AS (
  DELETE FROM saver_writes AS w
  WHERE w.tenant_id = $1 AND w.user_id = $2 AND w.thread_id = ANY($3::text[]) AND NOT EXISTS (
    SELECT FROM saver_checkpoints AS c WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = w.thread_id
      AND c.checkpoint_ns = w.checkpoint_ns AND c.checkpoint_id = w.checkpoint_id
  )
), newest AS MATERIALIZED (
  SELECT DISTINCT ON (c.thread_id) c.thread_id, c.checkpoint_id, c.checkpoint_type, c.facts, c.versions, c.created_at
  FROM saver_checkpoints AS c
  WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = ANY($3::text[]) AND c.checkpoint_ns = ''
  ORDER BY c.thread_id, c.checkpoint_id DESC
), moved AS (
  UPDATE supervisor_checkpoints AS s SET checkpoint_id = n.checkpoint_id, updated_at = now(),
    checkpoint_data = jsonb_build_object(
      'checkpoint_id', n.checkpoint_id, 'step', n.facts -> 'step', 'ts', n.created_at, 'graph_state', '{}'::jsonb,
      'memory_context', NULL, 'conversation_history', '[]'::jsonb,
      'agent_states', coalesce(s.checkpoint_data -> 'agent_states', '{}'::jsonb),
      'left_out', (SELECT coalesce(jsonb_agg(v.name ORDER BY v.name), '[]'::jsonb) FROM jsonb_object_keys(n.versions) AS v (name)
        WHERE v.name NOT LIKE '\_\_%' AND v.name NOT LIKE 'branch:%' AND v.name NOT LIKE 'join:%'))
      || CASE WHEN n.checkpoint_type LIKE '%+%' THEN '{"encrypted": true}'::jsonb ELSE '{}'::jsonb END
  FROM newest AS n
  WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.thread_id = n.thread_id AND s.checkpoint_id IS NOT NULL
    AND NOT EXISTS (
      SELECT FROM saver_checkpoints AS c WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = s.thread_id
        AND c.checkpoint_ns = '' AND c.checkpoint_id = s.checkpoint_id)
)
DELETE FROM supervisor_checkpoints AS s
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.thread_id = ANY($3::text[]) AND s.checkpoint_id IS NOT NULL
  AND NOT EXISTS (SELECT FROM newest AS n WHERE n.thread_id = s.thread_id);

-- name: copy_saver_thread
-- Copies all of a thread ($3) into another one ($4), which belongs to the agent $5; what is there already under the same
-- ids stays.
WITH checkpoints AS (
  INSERT INTO saver_checkpoints (
    tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, parent_id, checkpoint_type, checkpoint, metadata_type,
    metadata, facts, versions, created_at, agent_id
  )
  SELECT c.tenant_id, c.user_id, $4, c.checkpoint_ns, c.checkpoint_id, c.parent_id, c.checkpoint_type, c.checkpoint,
    c.metadata_type, c.metadata, c.facts, c.versions, c.created_at, $5
  FROM saver_checkpoints AS c WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = $3
  ON CONFLICT DO NOTHING
), blobs AS (
  INSERT INTO saver_blobs (tenant_id, user_id, thread_id, checkpoint_ns, channel, version, type, data)
  SELECT b.tenant_id, b.user_id, $4, b.checkpoint_ns, b.channel, b.version, b.type, b.data
  FROM saver_blobs AS b WHERE b.tenant_id = $1 AND b.user_id = $2 AND b.thread_id = $3
  ON CONFLICT DO NOTHING
), writes AS (
  INSERT INTO saver_writes (
    tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, task_id, task_path, idx, channel, type, data
  )
  SELECT w.tenant_id, w.user_id, $4, w.checkpoint_ns, w.checkpoint_id, w.task_id, w.task_path, w.idx, w.channel, w.type,
    w.data
  FROM saver_writes AS w WHERE w.tenant_id = $1 AND w.user_id = $2 AND w.thread_id = $3
  ON CONFLICT DO NOTHING
)
INSERT INTO supervisor_checkpoints (tenant_id, user_id, thread_id, checkpoint_id, checkpoint_data)
SELECT s.tenant_id, s.user_id, $4, s.checkpoint_id, s.checkpoint_data
FROM supervisor_checkpoints AS s
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.thread_id = $3 AND s.checkpoint_id IS NOT NULL
ON CONFLICT (tenant_id, user_id, thread_id) DO UPDATE SET
  checkpoint_id = excluded.checkpoint_id, checkpoint_data = excluded.checkpoint_data, updated_at = now()
WHERE supervisor_checkpoints.checkpoint_id IS NULL OR supervisor_checkpoints.checkpoint_id < excluded.checkpoint_id;

-- name: get_supervisor_checkpoint
-- Reads what the newest checkpoint of a thread says.
SELECT id, tenant_id, user_id, thread_id, checkpoint_data, created_at, updated_at,
  checkpoint_id IS NOT NULL AND checkpoint_data @> '{"encrypted": true}' AS encrypted
FROM supervisor_checkpoints WHERE tenant_id = $1 AND user_id = $2 AND thread_id = $3;

-- name: redact_supervisor_checkpoints
-- Leaves metadata alone of what checkpoints of savers say, of up to $3 threads of a tenant, or of a user ($2) of it.
UPDATE supervisor_checkpoints AS s
SET checkpoint_data = jsonb_build_object(
  'checkpoint_id', s.checkpoint_id, 'step', s.checkpoint_data -> 'step', 'ts', s.checkpoint_data -> 'ts',
  'agent_states', coalesce(s.checkpoint_data -> 'agent_states', '{}'::jsonb), 'encrypted', true)
FROM (
  SELECT o.id FROM supervisor_checkpoints AS o
  WHERE o.tenant_id = $1 AND ($2::text IS NULL OR o.user_id = $2) AND o.checkpoint_id IS NOT NULL
    AND NOT o.checkpoint_data @> '{"encrypted": true}'
  LIMIT $3 FOR UPDATE
) AS o
WHERE s.id = o.id
RETURNING s.id;

-- name: save_supervisor_checkpoint
-- Writes what somebody without a saver keeps of a thread; no row where a saver has written one.
INSERT INTO supervisor_checkpoints (tenant_id, user_id, thread_id, checkpoint_data) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, user_id, thread_id) DO UPDATE SET
  checkpoint_data = excluded.checkpoint_data, updated_at = now()
WHERE supervisor_checkpoints.checkpoint_id IS NULL
RETURNING id, tenant_id, user_id, thread_id, checkpoint_data, created_at, updated_at, false AS encrypted;

-- name: has_saver_thread
-- Tells whether a saver keeps checkpoints of a thread.
SELECT EXISTS (SELECT FROM saver_checkpoints WHERE tenant_id = $1 AND user_id = $2 AND thread_id = $3);
