-- What the processes are at: of each worker of an outbox its newest batch of jobs, with their leases, written before the work
-- begins. `is_alone` while no other job is at work in the process. A job that is still under the lease that is here was at
-- work when its process ended.
CREATE TABLE IF NOT EXISTS job_runs (
  process uuid NOT NULL,
  outbox text NOT NULL,
  slot int NOT NULL,
  jobs uuid[] NOT NULL,
  leases int[] NOT NULL,
  is_alone boolean NOT NULL,
  began_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (process, outbox, slot)
) WITH (fillfactor = 50);

-- Jobs that were at work when a process ended; each of them runs alone from then on. `deaths` are the processes that ended
-- while it did.
CREATE TABLE IF NOT EXISTS suspect_jobs (
  outbox text NOT NULL,
  outbox_id uuid NOT NULL,
  deaths uuid[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (outbox, outbox_id)
);
