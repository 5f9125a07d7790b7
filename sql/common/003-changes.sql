-- Changes of items, told to who wants to hear of them: with the transaction that changes an item, its family tells by this
-- function, and what nobody wants to hear is not kept.

\ir ../webhooks/tables/webhooks.sql
\ir ../webhooks/tables/outbox.sql

CREATE OR REPLACE FUNCTION tell_change(
  what text, of_family text, of_kind text, id text, tenant text,
  project text DEFAULT NULL, agent text DEFAULT NULL, owner text DEFAULT NULL, more jsonb DEFAULT '{}'
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  told_as uuid;
BEGIN
  IF NOT EXISTS (SELECT FROM webhooks) THEN
    RETURN;
  END IF;
  told_as := gen_random_uuid();
  INSERT INTO webhook_outbox (
    webhook, event_id, event, family, kind, item_id, tenant_id, project_id, agent_id, user_id, extra, lane)
  SELECT w.name, told_as, what, of_family, of_kind, id, tenant, project, agent, owner, more,
    concat_ws(chr(31), of_family, tenant, coalesce(project, ''), coalesce(agent, ''), coalesce(owner, ''))
  FROM webhooks AS w
  WHERE (w.families IS NULL OR of_family = ANY (w.families))
    AND (w.events IS NULL OR what = ANY (w.events))
    AND (w.tenants IS NULL OR tenant = ANY (w.tenants));
END $$;
