-- A file on its way to where it ends, of which a memory was erased in between: it is removed instead of kept.
ALTER TABLE memory_ingests ADD COLUMN is_erased INTEGER NOT NULL DEFAULT 0 CHECK (is_erased IN (0, 1));
