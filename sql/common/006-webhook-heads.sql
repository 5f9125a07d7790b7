-- A lease of webhook events looks only at the heads of lanes: the first open event of each. `is_head` is true of every head, and
-- of events behind one that nobody has looked at since they were written: whoever writes an event neither reads its lane nor
-- waits for anybody. A lease tells those apart (sql/webhooks/outbox.queries.sql). When a head goes, the next of its lane
-- becomes one in the same transaction, whatever statement it was.

ALTER TABLE webhook_outbox ADD COLUMN IF NOT EXISTS is_head boolean NOT NULL DEFAULT true;

-- What is due: what is put off is behind it.
CREATE INDEX IF NOT EXISTS idx_webhook_outbox_heads ON webhook_outbox (webhook, available_at, seq)
  WHERE is_head AND status IN ('PENDING', 'FAILED');

-- What has waited for too long.
CREATE INDEX IF NOT EXISTS idx_webhook_outbox_open ON webhook_outbox (webhook, created_at)
  WHERE status IN ('PENDING', 'FAILED');

CREATE OR REPLACE FUNCTION promote_next_webhook_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  next record;
BEGIN
  LOOP -- somebody else may end the next one at this moment
    SELECT o.outbox_id, o.is_head INTO next FROM webhook_outbox AS o
    WHERE o.webhook = OLD.webhook AND o.lane = OLD.lane AND o.seq > OLD.seq AND o.status IN ('PENDING', 'FAILED')
    ORDER BY o.seq LIMIT 1;
    EXIT WHEN NOT FOUND OR next.is_head;
    UPDATE webhook_outbox AS o SET is_head = true WHERE o.outbox_id = next.outbox_id AND o.status IN ('PENDING', 'FAILED');
    EXIT WHEN FOUND;
  END LOOP;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER webhook_head_deleted AFTER DELETE ON webhook_outbox FOR EACH ROW
  WHEN (OLD.is_head AND OLD.status IN ('PENDING', 'FAILED'))
  EXECUTE FUNCTION promote_next_webhook_event();

CREATE OR REPLACE TRIGGER webhook_head_ended AFTER UPDATE OF status ON webhook_outbox FOR EACH ROW
  WHEN (OLD.is_head AND OLD.status IN ('PENDING', 'FAILED') AND NEW.status NOT IN ('PENDING', 'FAILED'))
  EXECUTE FUNCTION promote_next_webhook_event();

CREATE OR REPLACE FUNCTION reopen_webhook_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.is_head := true;
  RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER webhook_event_reopened BEFORE UPDATE OF status ON webhook_outbox FOR EACH ROW
  WHEN (OLD.status NOT IN ('PENDING', 'FAILED') AND NEW.status IN ('PENDING', 'FAILED'))
  EXECUTE FUNCTION reopen_webhook_event();

-- How many events were dropped because too many waited, or for too long.
CREATE TABLE IF NOT EXISTS webhook_drops (
  webhook text NOT NULL REFERENCES webhooks (name) ON DELETE CASCADE,
  tenant_id text NOT NULL,
  events bigint NOT NULL,
  last_at timestamptz NOT NULL,
  PRIMARY KEY (webhook, tenant_id)
);
