-- Exact search, for while the index is away.

-- name: exact_search
-- Both legs of several queries: the chunks with the greatest cosine similarity to the vectors $8 of the queries $7, and
-- those with the greatest BM25 score (k1 = 1.2, b = 0.75, what the reader sees as the collection) for the texts $10 of the
-- queries $9. Queries count from 1; query n has $11[n] hits a leg at most.
-- Only notes count that the filter $12 to $18 lets through, as in read_candidates.
-- All live chunks of the project are gone through. They and their vectors are looked up by id, whatever the planner
-- believes: a few lookups for each note of one project, while the tables hold those of all projects.
WITH asked AS MATERIALIZED (
  SELECT q.query, term.lexeme
  FROM unnest($9::int[], $10::text[]) AS q (query, text)
  CROSS JOIN LATERAL unnest(note_words(q.text)) AS term
), any_word AS MATERIALIZED (
  SELECT array_to_string(ARRAY(SELECT DISTINCT quote_literal(lexeme) FROM asked), ' | ')::tsquery AS terms
), live AS MATERIALIZED (
  SELECT n.note_id, c.chunk_id, length(c.words) AS length,
    CASE WHEN c.words @@ any_word.terms THEN c.words END AS words
  FROM memory_notes AS n
  CROSS JOIN any_word
  CROSS JOIN LATERAL (
    SELECT m.chunk_id, m.words FROM memory_note_chunks AS m
    WHERE m.note_id = n.note_id AND m.embedding_version = $5 OFFSET 0) AS c
  WHERE n.tenant_id = $1 AND n.project_id = $2
    AND n.scope = ANY ($4::text[]) AND (n.scope <> 'agent_private' OR n.agent_id = $3)
    AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $6)
    AND (n.type = ANY ($12::text[])) IS NOT FALSE AND ($13::text IS NULL OR starts_with(n.key, $13))
    AND (n.updated_at >= $14::timestamptz) IS NOT FALSE AND (n.updated_at < $15::timestamptz) IS NOT FALSE
    AND (n.created_at >= $16::timestamptz) IS NOT FALSE AND (n.created_at < $17::timestamptz) IS NOT FALSE
    AND (n.source_ref @> ANY ($18::jsonb[])) IS NOT FALSE
), near AS (
  SELECT q.query, live.note_id, live.chunk_id, 1 - (e.vec <=> q.vec) AS score
  FROM live
  CROSS JOIN LATERAL (
    SELECT v.vec FROM note_chunk_embeddings AS v
    WHERE v.chunk_id = live.chunk_id AND v.embedding_version = $5 AND has_direction(v.vec) OFFSET 0) AS e
  JOIN unnest($7::int[], $8::vector[]) AS q (query, vec) ON has_direction(q.vec)
), collection AS MATERIALIZED (
  SELECT count(*) AS chunks, avg(length)::float8 AS length FROM live
), found AS MATERIALIZED (
  SELECT live.note_id, live.chunk_id, live.length, term.lexeme, cardinality(term.positions) AS often
  FROM live
  CROSS JOIN LATERAL unnest(live.words) AS term
  WHERE live.words IS NOT NULL AND term.lexeme = ANY (ARRAY(SELECT asked.lexeme FROM asked))
), rarity AS MATERIALIZED (
  SELECT f.lexeme, ln(1 + (c.chunks - count(*) + 0.5) / (count(*) + 0.5))::float8 AS idf
  FROM found AS f CROSS JOIN collection AS c
  GROUP BY f.lexeme, c.chunks
), matching AS (
  SELECT asked.query, f.note_id, f.chunk_id,
    sum(rarity.idf * f.often * 2.2 / (f.often + 1.2 * (0.25 + 0.75 * f.length / c.length))) AS score
  FROM found AS f
  JOIN asked ON asked.lexeme = f.lexeme
  JOIN rarity ON rarity.lexeme = f.lexeme
  CROSS JOIN collection AS c
  GROUP BY asked.query, f.note_id, f.chunk_id
), hits AS (
  SELECT 'dense' AS leg, near.* FROM near
  UNION ALL SELECT 'words', matching.* FROM matching
), ranked AS (
  SELECT hits.*, row_number() OVER (PARTITION BY hits.leg, hits.query ORDER BY hits.score DESC, hits.chunk_id) AS rank
  FROM hits
)
SELECT leg, query, note_id, chunk_id, score FROM ranked WHERE rank <= ($11::int[])[query] ORDER BY leg, query, rank;
