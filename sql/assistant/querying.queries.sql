-- How a query is answered. <columns> are those of a memory m, <filters> what is looked for: a place and filters of a
-- memory m, which are $1 to $13.

-- name: find_candidates
-- The memories nearest to a vector ($15, or null; of the model $16) and those with any of the words ($17), up to $19 each
-- way, without some ($18); of each category of $3 at most as many as $14 says, where it says so. A cosine is at least $20
-- where that is there. For each that is related to another one of them, the greatest strength, too.
-- For that, and for the strengths, one row of arrays is looked into: a plan made for all users takes a join of few rows for
-- one of a single row, and goes through all pairs.
WITH asked AS MATERIALIZED (
  SELECT array_agg(q.query) AS each_word, string_agg(q.query::text, ' | ')::tsquery AS any_word
  FROM unnest($17::text[]) AS t (word) CROSS JOIN LATERAL plainto_tsquery('simple', t.word) AS q (query)
  WHERE numnode(q.query) > 0
), near AS MATERIALIZED (
  SELECT n.memory_id, n.category, row_number() OVER (ORDER BY n.distance, n.memory_id) AS place
  FROM (
    SELECT m.memory_id, m.category, v.embedding <=> $15::vector AS distance,
      row_number() OVER (PARTITION BY m.category ORDER BY v.embedding <=> $15::vector, m.memory_id) AS place
    FROM assistant_memories AS m JOIN assistant_vectors AS v USING (tenant_id, user_id, memory_id)
    WHERE $15::vector IS NOT NULL AND v.embedding_version = $16 AND m.memory_id <> ALL ($18::uuid[])
      AND ($20::float8 IS NULL OR 1 - (v.embedding <=> $15::vector) >= $20) AND <filters>
  ) AS n
  WHERE n.place <= coalesce(($14::int[])[array_position($3::text[], n.category)], $19::int)
  ORDER BY n.distance, n.memory_id LIMIT $19
), said AS MATERIALIZED (
  SELECT s.memory_id, s.category, row_number() OVER (ORDER BY s.rank DESC, s.memory_id) AS place
  FROM (
    SELECT m.memory_id, m.category, ts_rank(m.words, a.any_word) AS rank,
      row_number() OVER (PARTITION BY m.category ORDER BY ts_rank(m.words, a.any_word) DESC, m.memory_id) AS place
    FROM asked AS a CROSS JOIN assistant_memories AS m
    LEFT JOIN assistant_vectors AS v ON v.tenant_id = m.tenant_id AND v.user_id = m.user_id
      AND v.memory_id = m.memory_id AND v.embedding_version = $16
    WHERE m.words @@ a.any_word AND m.memory_id <> ALL ($18::uuid[])
      AND ($20::float8 IS NULL OR 1 - (v.embedding <=> $15::vector) >= $20) AND <filters>
  ) AS s
  WHERE s.place <= coalesce(($14::int[])[array_position($3::text[], s.category)], $19::int)
  ORDER BY s.rank DESC, s.memory_id LIMIT $19
), found AS MATERIALIZED (
  SELECT f.memory_id FROM (
    SELECT memory_id, category,
      row_number() OVER (PARTITION BY category ORDER BY least(n.place, s.place), memory_id) AS place
    FROM near AS n FULL JOIN said AS s USING (memory_id, category)
  ) AS f
  WHERE f.place <= coalesce(($14::int[])[array_position($3::text[], f.category)], $19::int)
), related AS MATERIALIZED (
  SELECT array_agg(p.memory_id) AS ids, array_agg(p.strength) AS strengths FROM (
    SELECT e.memory_id, max(r.strength) AS strength
    FROM assistant_relations AS r CROSS JOIN LATERAL (VALUES (r.from_id), (r.to_id)) AS e (memory_id)
    WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.from_id = ANY (ARRAY(SELECT memory_id FROM found))
      AND r.to_id = ANY (ARRAY(SELECT memory_id FROM found))
    GROUP BY e.memory_id
  ) AS p
)
SELECT <columns>, 1 - (v.embedding <=> $15::vector) AS cosine, coalesce((
    SELECT count(*) FILTER (WHERE m.words @@ e.query)::float8 / nullif(count(*), 0)
    FROM unnest(a.each_word) AS e (query)
  ), 0) AS share_of_words, e.strengths[array_position(e.ids, m.memory_id)] AS strength
FROM found AS f
CROSS JOIN asked AS a
CROSS JOIN related AS e
JOIN assistant_memories AS m ON m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = f.memory_id
LEFT JOIN assistant_vectors AS v ON v.tenant_id = m.tenant_id AND v.user_id = m.user_id
  AND v.memory_id = m.memory_id AND v.embedding_version = $16;

-- name: find_whole
-- Up to $14 memories of categories that come whole, what matters most first.
SELECT <columns> FROM assistant_memories AS m WHERE <filters>
ORDER BY m.importance DESC, m.updated_at DESC, m.memory_id LIMIT $14;

-- name: categories_of
-- The categories of which a user has memories.
SELECT coalesce(array_agg(DISTINCT m.category), '{}') FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.state = 'active';

-- name: standing_of
-- For each of some memories ($3) whether it is contradicted by one of some categories ($4; null: any), and the ids of those
-- that it was merged with or drawn from, and in which threads it was said, too.
SELECT a.memory_id,
  ARRAY(
    SELECT s.thread_id FROM assistant_memory_sources AS s
    WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.memory_id = a.memory_id ORDER BY s.created_at, s.thread_id
  ) AS threads,
  EXISTS (
    SELECT FROM assistant_relations AS r
    JOIN assistant_memories AS o ON o.tenant_id = r.tenant_id AND o.user_id = r.user_id
      AND o.memory_id = CASE r.from_id WHEN a.memory_id THEN r.to_id ELSE r.from_id END
    WHERE r.tenant_id = $1 AND r.user_id = $2 AND a.memory_id IN (r.from_id, r.to_id)
      AND r.relation_type = 'contradicts' AND o.state = 'active' AND ($4::text[] IS NULL OR o.category = ANY ($4))
  ) AS is_contradicted,
  ARRAY(
    SELECT DISTINCT s.id FROM assistant_history AS h CROSS JOIN LATERAL (
      SELECT h.old_id::text WHERE h.event = 'MERGE' AND h.new_id = h.memory_id
      UNION ALL SELECT jsonb_path_query(h.meta, '$.merged_from[*]') #>> '{}'
      UNION ALL SELECT jsonb_path_query(h.meta, '$.drawn_from[*]') #>> '{}'
    ) AS s (id)
    WHERE h.tenant_id = $1 AND h.user_id = $2 AND h.memory_id = a.memory_id AND s.id <> a.memory_id::text
    ORDER BY s.id
  ) AS made_of
FROM unnest($3::uuid[]) AS a (memory_id);

-- name: find_related
-- Up to $16 memories that are related to some ($14) and none of others ($15), the strongest first, each once.
SELECT <columns>, e.of_id, e.relation_type, e.strength
FROM (
  SELECT DISTINCT ON (b.memory_id) b.memory_id, b.of_id, b.relation_type, b.strength
  FROM (
    SELECT r.to_id AS memory_id, r.from_id AS of_id, r.relation_type, r.strength FROM assistant_relations AS r
    WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.from_id = ANY ($14::uuid[])
    UNION ALL
    SELECT r.from_id, r.to_id, r.relation_type, r.strength FROM assistant_relations AS r
    WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.to_id = ANY ($14::uuid[])
  ) AS b
  WHERE b.memory_id <> ALL ($15::uuid[])
  ORDER BY b.memory_id, b.strength DESC, b.of_id, b.relation_type
) AS e
JOIN assistant_memories AS m USING (memory_id)
WHERE <filters>
ORDER BY e.strength DESC, m.memory_id LIMIT $16;

-- name: count_hits
-- Counts that memories were given to agents: each as often as $4 says, at last at $5.
UPDATE assistant_memories AS m
SET hit_count = m.hit_count + l.hits, last_accessed = greatest(m.last_accessed, l.at)
FROM (
  SELECT o.tenant_id, o.user_id, o.memory_id, h.hits, h.at
  FROM unnest($1::text[], $2::text[], $3::uuid[], $4::int[], $5::timestamptz[]) AS h (tenant_id, user_id, memory_id, hits, at)
  JOIN assistant_memories AS o USING (tenant_id, user_id, memory_id)
  ORDER BY o.tenant_id, o.user_id, o.memory_id FOR NO KEY UPDATE OF o
) AS l
WHERE m.tenant_id = l.tenant_id AND m.user_id = l.user_id AND m.memory_id = l.memory_id;

-- name: count_recall
-- Counts that an agent looked something up in a thread because it was not sure; tells how often, and of how many turns.
WITH counted AS (
  INSERT INTO assistant_recalls AS r (tenant_id, user_id, thread_id, agent_id, recalls) VALUES ($1, $2, $3, $4, 1)
  ON CONFLICT (tenant_id, user_id, thread_id, agent_id) DO UPDATE SET recalls = r.recalls + 1
  RETURNING r.recalls
)
SELECT c.recalls, coalesce(t.turns, 0) AS turns FROM counted AS c
LEFT JOIN assistant_threads AS t ON t.tenant_id = $1 AND t.user_id = $2 AND t.thread_id = $3;

-- name: see_thread
-- Notes that a thread was seen, and keeps it until the transaction ends; `seen_rev` is up to where an agent ($5) was told.
UPDATE assistant_threads AS t SET seen_at = greatest(t.seen_at, $4)
WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.thread_id = $3
RETURNING t.rev, coalesce((
  SELECT r.seen_rev FROM assistant_recalls AS r
  WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.thread_id = $3 AND r.agent_id = $5), 0) AS seen_rev;

-- name: changes_since
-- What a thread is told of changes behind a revision ($4), oldest first.
SELECT c.rev, c.memory_id, c.event, c.meta, c.ts FROM assistant_changes AS c
WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = $3 AND c.rev > $4
ORDER BY c.rev;

-- name: move_seen
-- Notes up to which revision an agent ($4) of a thread has been told.
INSERT INTO assistant_recalls AS r (tenant_id, user_id, thread_id, agent_id, seen_rev) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, user_id, thread_id, agent_id)
DO UPDATE SET seen_rev = excluded.seen_rev WHERE r.seen_rev < excluded.seen_rev;
