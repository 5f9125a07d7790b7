-- The vectors of one file.

-- name: delete_vectors
-- Takes the vectors of memories away, which a JSON list names, and what says that they are to be made.
DELETE FROM memory_embeddings
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND memory_id IN (SELECT value FROM json_each(:memory_ids));

-- name: insert_vectors_to_make
-- Says that the vectors of memories are to be made, which a JSON list names.
INSERT INTO memory_embeddings (tenant_id, orchestrator_id, memory_id, embedding_version, ordinal)
SELECT :tenant_id, :orchestrator_id, value, :embedding_version, 0 FROM json_each(:memory_ids);

-- name: insert_missing_vectors_to_make
-- Says that vectors are to be made of the memories that are indexed and have none of a version.
INSERT INTO memory_embeddings (tenant_id, orchestrator_id, memory_id, embedding_version, ordinal)
SELECT m.tenant_id, m.orchestrator_id, m.memory_id, :embedding_version, 0
FROM memories m
WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.is_indexed AND NOT EXISTS (
  SELECT 1
  FROM memory_embeddings e
  WHERE e.tenant_id = m.tenant_id AND e.orchestrator_id = m.orchestrator_id AND e.memory_id = m.memory_id
    AND e.embedding_version = :embedding_version
);

-- name: vectors_to_make
-- Reads what vectors are to be made of, those that failed least often first. What says so has a number, and is written
-- anew with another one whenever the text changes. What ended so many processes is given up.
SELECT e.embedding_no, e.memory_id, m.content, e.attempts, e.is_suspect
FROM memory_embeddings e
JOIN memories m
  ON m.tenant_id = e.tenant_id AND m.orchestrator_id = e.orchestrator_id AND m.memory_id = e.memory_id
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id AND e.embedding_version = :embedding_version
  AND e.vector IS NULL AND e.due_at <= :now AND e.deaths < :most_deaths
ORDER BY e.due_at, e.embedding_no
LIMIT :limit;

-- name: begin_vectors
-- Says that vectors are being made of what numbers name, which a JSON list holds.
UPDATE memory_embeddings
SET begun = :begun
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND vector IS NULL
  AND embedding_no IN (SELECT value FROM json_each(:numbers));

-- name: suspect_begun_vectors
-- Suspects what was being made when the process ended, and reads how often each was all that a process was at.
UPDATE memory_embeddings
SET deaths = deaths + (begun = 2), is_suspect = 1, begun = 0
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND vector IS NULL AND begun > 0
RETURNING deaths;

-- name: still_to_make
-- Reads which of some numbers still say that vectors are to be made.
SELECT e.embedding_no
FROM json_each(:numbers) AS asked
CROSS JOIN memory_embeddings e ON e.embedding_no = asked.value
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id AND e.vector IS NULL;

-- name: count_vectors_to_make
-- Counts the memories that vectors are to be made of.
SELECT count(*)
FROM memory_embeddings e
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id AND e.embedding_version = :embedding_version
  AND e.vector IS NULL AND (
    :viewer IS NULL OR EXISTS (
      SELECT 1
      FROM memories m
      WHERE m.tenant_id = e.tenant_id AND m.orchestrator_id = e.orchestrator_id AND m.memory_id = e.memory_id
        AND <sees_memory>
    )
  );

-- name: insert_vectors
-- Adds vectors of memories, which stand one behind the other in :vectors. Each gets a number that no vector had before.
INSERT INTO memory_embeddings (tenant_id, orchestrator_id, memory_id, embedding_version, ordinal, vector)
SELECT :tenant_id, :orchestrator_id, value ->> 'memory_id', :embedding_version, value ->> 'ordinal',
       substr(:vectors, 1 + key * :vector_bytes, :vector_bytes)
FROM jsonb_each(:rows);

-- name: postpone_vectors
-- Says that the vectors of a memory could not be made, and when to try again.
UPDATE memory_embeddings
SET attempts = attempts + 1, due_at = :due_at, begun = 0
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id
  AND embedding_version = :embedding_version AND vector IS NULL;

-- name: state_of_vectors
-- Counts the vectors of a version, and reads the last number.
SELECT count(*), coalesce(max(embedding_no), 0)
FROM memory_embeddings INDEXED BY embeddings_made
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND embedding_version = :embedding_version
  AND vector IS NOT NULL;

-- name: numbers_of_vectors
-- Reads the numbers of the vectors of a version.
SELECT embedding_no
FROM memory_embeddings INDEXED BY embeddings_made
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND embedding_version = :embedding_version
  AND vector IS NOT NULL;

-- name: vectors_after
-- Reads the vectors of a version behind a number.
SELECT embedding_no, memory_id, vector
FROM memory_embeddings INDEXED BY embeddings_made
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND embedding_version = :embedding_version
  AND vector IS NOT NULL AND embedding_no > :after
ORDER BY embedding_no;
