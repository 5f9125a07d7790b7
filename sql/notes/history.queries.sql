-- Reading the history of one note. The moments of its versions ascend strictly.

-- name: list_versions
-- A page of a note's versions, newest first, behind the cursor ($2, $3), which is never null. The snapshots are JSON
-- text; the page ends early, before the version that makes them more than $5 bytes in all, but for the first. `has_next`
-- tells whether any version comes after a row.
SELECT p.*
FROM (
  SELECT
    v.*,
    sum(coalesce(octet_length(v.prev_snapshot), 0) + coalesce(octet_length(v.new_snapshot), 0))
      OVER (place ROWS UNBOUNDED PRECEDING) AS bytes,
    row_number() OVER place AS number, lead(true, 1, false) OVER place AS has_next
  FROM (
    SELECT
      v.version_id, v.op, v.reason, v.actor, v.ts, v.prev_snapshot::text AS prev_snapshot,
      v.new_snapshot::text AS new_snapshot
    FROM memory_note_versions AS v
    WHERE v.note_id = $1 AND (v.ts, v.version_id) < ($2::timestamptz, $3::uuid)
    ORDER BY v.ts DESC, v.version_id DESC
    LIMIT $4 + 1
  ) AS v
  WINDOW place AS (ORDER BY v.ts DESC, v.version_id DESC)
) AS p
WHERE p.bytes <= $5 OR p.number = 1
ORDER BY p.ts DESC, p.version_id DESC
LIMIT $4;

-- name: get_version
-- Reads one version of a note.
SELECT v.note_id, v.version_id, v.new_snapshot
FROM memory_note_versions AS v WHERE v.version_id = $2 AND v.note_id = $1;

-- name: oldest_version
-- The oldest version of a note that is left.
SELECT v.ts, v.prev_snapshot IS NULL AS is_first
FROM memory_note_versions AS v
WHERE v.note_id = $1
ORDER BY v.ts
LIMIT 1;

-- name: last_active_version
-- The newest version after which the note was active.
SELECT v.note_id, v.version_id, v.new_snapshot
FROM memory_note_versions AS v
WHERE v.note_id = $1 AND v.new_snapshot ->> 'status' = 'active'
ORDER BY v.ts DESC
LIMIT 1;

-- name: list_repetitions
-- The latest of what was said again of a note in other words, newest first.
SELECT d.dropped_text AS text, d.similarity, d.actor, d.ts
FROM memory_ingest_decisions AS d
WHERE d.note_id = $1 AND d.dropped_text IS NOT NULL
ORDER BY d.decision_id DESC
LIMIT $2;

-- name: list_decisions
-- A page of a tenant's decisions, newest first, before the id $6; what is null among $2 to $5 does not filter, nor
-- do the scopes $8 when they are null.
SELECT d.*
FROM memory_ingest_decisions AS d
WHERE d.tenant_id = $1
  AND ($2::text IS NULL OR d.project_id = $2)
  AND ($3::text IS NULL OR d.agent_id = $3)
  AND ($4::uuid IS NULL OR d.note_id = $4)
  AND ($5::text IS NULL OR d.op = $5)
  AND d.decision_id < $6
  AND ($8::text[] IS NULL OR d.scope = ANY ($8))
ORDER BY d.decision_id DESC
LIMIT $7;
