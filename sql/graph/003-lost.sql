-- `made_at`: since when the file of a memory is known to be there, so that one that is gone is not taken for one that is new.
-- `lost_at`: since when it is missed.
ALTER TABLE graph_homes ADD COLUMN IF NOT EXISTS made_at timestamptz, ADD COLUMN IF NOT EXISTS lost_at timestamptz;
