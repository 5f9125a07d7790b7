-- What shows that a write would work: each process writes a row here every few seconds and deletes it again. A row fills
-- a page, and none is left behind, so each of them needs a new page of the disk, as sooner or later every write does.
CREATE TABLE IF NOT EXISTS write_probes (
  written_at timestamptz NOT NULL DEFAULT now(),
  filler text NOT NULL
) WITH (autovacuum_enabled = off);
ALTER TABLE write_probes ALTER COLUMN filler SET STORAGE PLAIN;
