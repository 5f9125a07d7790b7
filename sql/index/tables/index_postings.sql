-- The inverted index: which words, as 32-bit hashes, the points hold, with their BM25 weight before the idf. The
-- primary key answers a search by itself; the other two indexes count a word and find a point's rows.
CREATE TABLE IF NOT EXISTS index_postings (
  place bigint NOT NULL,
  shelf bigint NOT NULL,
  point_id uuid NOT NULL,
  term int NOT NULL,
  weight real NOT NULL,
  PRIMARY KEY (place, term, point_id) INCLUDE (shelf, weight)
);

CREATE INDEX IF NOT EXISTS idx_index_postings_term ON index_postings (term);

CREATE INDEX IF NOT EXISTS idx_index_postings_point ON index_postings (point_id);
