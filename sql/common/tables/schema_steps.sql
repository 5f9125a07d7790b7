-- Which schema steps this database has: the family, the name of the file without its ending, and the BLAKE3 digest of its
-- text. Not a step itself: it is made before the first one. `breaks_older` stands here because a version of ELF that
-- is older than the step does not have its file.
CREATE TABLE IF NOT EXISTS schema_steps (
  family text NOT NULL,
  name text NOT NULL,
  digest text NOT NULL,
  breaks_older boolean NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (family, name)
);
