-- The lock that keeps writes apart from the erasure of their owner: a tenant, or one of its users or agents.
--
-- A transaction that adds rows of an owner holds the owner's advisory lock shared until it ends; an erasure holds it
-- exclusively from before its first look until its receipt is written. So what was added before is there to be erased,
-- and what comes during the erasure is rejected, by whatever way it comes: a trigger of each table with data of owners
-- takes the lock. It never waits: a writer that holds rows meanwhile would keep the erasure waiting for them.
--
-- What a process has had in its memory since before the end of an erasure, such as the trace of a search, tells of what is
-- gone, and is not written any more.

-- Owners who were erased of late, by the numbers of their locks, and when that ended; for a day at least: nothing is held
-- for longer until it is written.
CREATE TABLE IF NOT EXISTS erased_owners (
  owner bigint PRIMARY KEY,
  erased_at timestamptz NOT NULL
);

-- The number of an owner's advisory lock. `kind` is tenant, user or agent.
CREATE OR REPLACE FUNCTION owner_lock(tenant_id text, kind text, name text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT hashtextextended(concat_ws(chr(31), 'erased', tenant_id, kind, name), 0)
$$;

-- Holds the owner's lock shared until the transaction ends; false while the owner is being erased.
CREATE OR REPLACE FUNCTION hold_owner(tenant_id text, kind text, name text) RETURNS boolean LANGUAGE sql AS $$
  SELECT pg_try_advisory_xact_lock_shared(owner_lock(tenant_id, kind, name))
$$;

-- Rejects the statement: an owner of what it writes is being erased.
CREATE OR REPLACE FUNCTION reject_erasing() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'an owner of this is being erased' USING ERRCODE = 'ELF01';
END $$;

-- Has the rows that are added to a table hold the locks of their tenant, and of the users and agents that SQL expressions
-- of a row x name. A row of no tenant (`tenant` is null for it) holds none. Where an expression tells when a row was begun
-- (`began`), it is rejected, too, if an erasure of an owner has ended since: one that ended before the lock was held is
-- seen by the statement behind that.
CREATE OR REPLACE FUNCTION hold_owners_of(
  table_name text, users text[] DEFAULT '{}', agents text[] DEFAULT '{}', tenant text DEFAULT 'x.tenant_id',
  began text DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  since text := format(', (%s)::timestamptz AS began FROM written AS x', coalesce(began, 'NULL'));
  owners text := format('SELECT %1$s AS tenant_id, ''tenant'' AS kind, %1$s AS name', tenant) || since;
  expression text;
  late text := '';
BEGIN
  FOREACH expression IN ARRAY users LOOP
    owners := owners || format(' UNION SELECT %s, ''user'', %s', tenant, expression) || since;
  END LOOP;
  FOREACH expression IN ARRAY agents LOOP
    owners := owners || format(' UNION SELECT %s, ''agent'', %s', tenant, expression) || since;
  END LOOP;
  IF began IS NOT NULL THEN
    late := format($look$
      PERFORM FROM (%s) AS o
      JOIN erased_owners AS e ON e.owner = owner_lock(o.tenant_id, o.kind, o.name) AND e.erased_at >= o.began;
      IF FOUND THEN
        PERFORM reject_erasing();
      END IF;
    $look$, owners);
  END IF;
  EXECUTE format($function$
    CREATE OR REPLACE FUNCTION %I() RETURNS trigger LANGUAGE plpgsql AS $body$
    BEGIN
      PERFORM FROM (%s) AS o
      WHERE o.tenant_id IS NOT NULL AND o.name IS NOT NULL AND NOT hold_owner(o.tenant_id, o.kind, o.name);
      IF FOUND THEN
        PERFORM reject_erasing();
      END IF;
      %s
      RETURN NULL;
    END $body$
  $function$, 'hold_owners_of_' || table_name, owners, late);
  EXECUTE format(
    'CREATE OR REPLACE TRIGGER %I AFTER INSERT ON %I REFERENCING NEW TABLE AS written '
    'FOR EACH STATEMENT EXECUTE FUNCTION %I()',
    table_name || '_owners_held', table_name, 'hold_owners_of_' || table_name);
END $$;
