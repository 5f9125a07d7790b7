-- A checkpoint of a thread and a namespace of it. `checkpoint` and `metadata` are as the graph's serializer made them,
-- `facts` is what of the metadata JSON can hold, by which they are listed, `versions` the version of each channel.
CREATE TABLE IF NOT EXISTS saver_checkpoints (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  checkpoint_ns text COLLATE "C" NOT NULL,
  checkpoint_id text COLLATE "C" NOT NULL,
  parent_id text COLLATE "C" NULL,
  checkpoint_type text NOT NULL,
  checkpoint bytea NOT NULL,
  metadata_type text NOT NULL,
  metadata bytea NOT NULL,
  facts jsonb NOT NULL,
  versions jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id)
);

CREATE INDEX IF NOT EXISTS idx_saver_checkpoints_runs
  ON saver_checkpoints (tenant_id, user_id, (facts ->> 'run_id')) WHERE facts ->> 'run_id' IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_saver_checkpoints_threads ON saver_checkpoints (tenant_id, thread_id, user_id);
CREATE INDEX IF NOT EXISTS idx_saver_checkpoints_newest ON saver_checkpoints (tenant_id, user_id, checkpoint_id);

-- The value that a channel had with a version; many checkpoints share it. The type `empty` is that of no value.
CREATE TABLE IF NOT EXISTS saver_blobs (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  checkpoint_ns text COLLATE "C" NOT NULL,
  channel text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  type text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (tenant_id, user_id, thread_id, checkpoint_ns, channel, version)
);

-- What tasks wrote after a checkpoint and before the next one, which may come before the checkpoint itself.
CREATE TABLE IF NOT EXISTS saver_writes (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text COLLATE "C" NOT NULL,
  checkpoint_ns text COLLATE "C" NOT NULL,
  checkpoint_id text COLLATE "C" NOT NULL,
  task_id text COLLATE "C" NOT NULL,
  idx integer NOT NULL,
  task_path text COLLATE "C" NOT NULL,
  channel text NOT NULL,
  type text NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (tenant_id, user_id, thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
);

-- The newest checkpoint of a thread's root namespace, as JSON. `checkpoint_id` is null where no saver wrote it.
CREATE TABLE IF NOT EXISTS supervisor_checkpoints (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text NOT NULL,
  checkpoint_id text COLLATE "C" NULL,
  checkpoint_data jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

CREATE UNIQUE INDEX IF NOT EXISTS uq_supervisor_checkpoints_thread
  ON supervisor_checkpoints (tenant_id, user_id, thread_id);
CREATE INDEX IF NOT EXISTS idx_supervisor_checkpoints_updated ON supervisor_checkpoints (tenant_id, updated_at DESC);

-- To squeeze a state costs more time than to write it.
ALTER TABLE saver_checkpoints ALTER COLUMN checkpoint SET STORAGE EXTERNAL;
ALTER TABLE saver_blobs ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE saver_writes ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE supervisor_checkpoints ALTER COLUMN checkpoint_data SET STORAGE EXTERNAL;
