-- One result of a traced search; item_id is the result_handle of the answer, note_id what was found, in any family, and
-- chunk_id the point of the index by which. The scores are double precision where the
-- requirements say real: of a large score, real keeps too few digits for its boosts to add up to it within 1e-6.
CREATE TABLE IF NOT EXISTS search_trace_items (
  item_id uuid PRIMARY KEY,
  trace_id uuid NOT NULL REFERENCES search_traces (trace_id) ON DELETE CASCADE,
  note_id uuid NOT NULL,
  chunk_id uuid NULL,
  rank int NOT NULL CONSTRAINT search_trace_items_rank_range CHECK (rank >= 1),
  retrieval_score double precision NULL,
  retrieval_rank int NULL,
  rerank_score double precision NOT NULL,
  tie_breaker_score double precision NOT NULL,
  final_score double precision NOT NULL,
  boosts jsonb NOT NULL,
  matched_terms jsonb NOT NULL,
  matched_fields jsonb NOT NULL
);

-- How relevant the result is, which may be compared between searches; null is unknown.
ALTER TABLE search_trace_items ADD COLUMN IF NOT EXISTS relevance double precision NULL;

CREATE INDEX IF NOT EXISTS idx_search_trace_items_trace ON search_trace_items (trace_id, rank);

CREATE INDEX IF NOT EXISTS idx_search_trace_items_note ON search_trace_items (note_id);
