-- The inverted index: which words, as 32-bit hashes, the points hold, with their BM25 weight before the idf. The
-- primary key answers a search by itself and counts a word, too; the other index finds a point's rows.
CREATE TABLE IF NOT EXISTS index_postings<space> (
  term int NOT NULL,
  place bigint NOT NULL,
  point_id uuid NOT NULL,
  shelf bigint NOT NULL,
  weight real NOT NULL,
  PRIMARY KEY (term, place, point_id) INCLUDE (shelf, weight)
);

CREATE INDEX IF NOT EXISTS idx_index_postings<space>_point ON index_postings<space> (point_id);
