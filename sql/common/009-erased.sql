-- Who was erased of late, and when that ended: what a process has had in its memory since before, such as the trace of a
-- search, tells of what is gone, and is not written any more.

-- Owners by the numbers of their locks, for a day at least: nothing is held for longer until it is written.
CREATE TABLE IF NOT EXISTS erased_owners (
  owner bigint PRIMARY KEY,
  erased_at timestamptz NOT NULL
);

-- As in 008-erasing.sql, for rows of which an SQL expression of a row x tells when they were begun (`began`): they are
-- rejected, too, where an erasure of an owner has ended since. One that ended before the lock was held is seen by the
-- statement behind that.
CREATE OR REPLACE FUNCTION hold_owners_of(
  table_name text, began text, users text[] DEFAULT '{}', agents text[] DEFAULT '{}', tenant text DEFAULT 'x.tenant_id'
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  since text := format(', (%s)::timestamptz AS began FROM written AS x', began);
  owners text := format('SELECT %1$s AS tenant_id, ''tenant'' AS kind, %1$s AS name', tenant) || since;
  expression text;
BEGIN
  FOREACH expression IN ARRAY users LOOP
    owners := owners || format(' UNION SELECT %s, ''user'', %s', tenant, expression) || since;
  END LOOP;
  FOREACH expression IN ARRAY agents LOOP
    owners := owners || format(' UNION SELECT %s, ''agent'', %s', tenant, expression) || since;
  END LOOP;
  EXECUTE format($function$
    CREATE OR REPLACE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      PERFORM FROM (%2$s) AS o
      WHERE o.tenant_id IS NOT NULL AND o.name IS NOT NULL AND NOT hold_owner(o.tenant_id, o.kind, o.name);
      IF FOUND THEN
        PERFORM reject_erasing();
      END IF;
      PERFORM FROM (%2$s) AS o
      JOIN erased_owners AS e ON e.owner = owner_lock(o.tenant_id, o.kind, o.name) AND e.erased_at >= o.began;
      IF FOUND THEN
        PERFORM reject_erasing();
      END IF;
      RETURN NULL;
    END $body$
  $function$, 'hold_owners_of_' || table_name, owners);
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER %I AFTER INSERT ON %I REFERENCING NEW TABLE AS written '
    'FOR EACH STATEMENT EXECUTE FUNCTION %I()',
    table_name || '_owners_held', table_name, 'hold_owners_of_' || table_name);
END $$;
