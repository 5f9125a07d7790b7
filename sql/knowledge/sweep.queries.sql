-- The sweep: what becomes of memories that nobody confirms. Effective confidence is that of rules/decay.py; the exponent
-- has a floor, as Postgres refuses powers that are too small to be told from 0. Rows are fetched by arrays of ids: those
-- are looked up by the index, however many rows the planner takes a page for.

-- name: decaying_tenants
-- Who has facts or rules: each tenant is looked up once, by the index.
WITH RECURSIVE of_facts AS (
  (SELECT f.tenant_id FROM knowledge_facts AS f WHERE f.validity = 'active' AND f.decay_rate > 0
   ORDER BY f.tenant_id LIMIT 1)
  UNION ALL
  SELECT (SELECT f.tenant_id FROM knowledge_facts AS f
          WHERE f.validity = 'active' AND f.decay_rate > 0 AND f.tenant_id > t.tenant_id ORDER BY f.tenant_id LIMIT 1)
  FROM of_facts AS t WHERE t.tenant_id IS NOT NULL
), of_rules AS (
  (SELECT r.tenant_id FROM knowledge_rules AS r WHERE r.maturity <> 'anti_pattern' AND r.decay_rate > 0
   ORDER BY r.tenant_id LIMIT 1)
  UNION ALL
  SELECT (SELECT r.tenant_id FROM knowledge_rules AS r
          WHERE r.maturity <> 'anti_pattern' AND r.decay_rate > 0 AND r.tenant_id > t.tenant_id
          ORDER BY r.tenant_id LIMIT 1)
  FROM of_rules AS t WHERE t.tenant_id IS NOT NULL
)
SELECT t.tenant_id FROM of_facts AS t WHERE t.tenant_id IS NOT NULL
UNION
SELECT t.tenant_id FROM of_rules AS t WHERE t.tenant_id IS NOT NULL;

-- name: sweep_facts
-- Looks at the next $3 facts after $2, and changes those that have come into another state. One that is confirmed or
-- changed at this moment, by another sweep, too, is left to the next sweep: all that was judged is looked at again once
-- it is locked.
WITH page AS MATERIALIZED (
  SELECT
    f.id, f.last_confirmed_at, f.metadata ->> 'status' IS NOT DISTINCT FROM 'fading' AS is_fading,
    CASE WHEN f.last_confirmed_at IS NULL THEN 0 ELSE f.confidence
      * exp(greatest(-500, -f.decay_rate * greatest(0, extract(epoch FROM $4 - f.last_confirmed_at)::float8 / 86400)))
    END AS effective
  FROM knowledge_facts AS f
  WHERE f.tenant_id = $1 AND f.id > $2 AND f.validity = 'active' AND f.decay_rate > 0
  ORDER BY f.id LIMIT $3
), turned AS MATERIALIZED (
  SELECT p.* FROM page AS p WHERE p.effective < 0.05 OR (p.effective < 0.2) <> p.is_fading
), due AS MATERIALIZED (
  SELECT f.id, p.effective, p.is_fading,
    CASE WHEN p.effective < 0.05 THEN 'expired' WHEN p.effective < 0.2 THEN 'fading' ELSE 'recovered' END AS change
  FROM turned AS p JOIN knowledge_facts AS f ON f.id = p.id
  WHERE f.tenant_id = $1 AND f.id = ANY (ARRAY(SELECT t.id FROM turned AS t))
    AND f.validity = 'active' AND f.last_confirmed_at IS NOT DISTINCT FROM p.last_confirmed_at
    AND (f.metadata ->> 'status' IS NOT DISTINCT FROM 'fading') = p.is_fading
  ORDER BY f.id FOR NO KEY UPDATE OF f
), changed AS (
  UPDATE knowledge_facts AS f
  SET validity = CASE d.change WHEN 'expired' THEN 'expired' ELSE f.validity END,
    metadata = CASE d.change WHEN 'fading' THEN f.metadata || '{"status": "fading"}' ELSE f.metadata - 'status' END
  FROM due AS d
  WHERE f.id = d.id AND f.tenant_id = $1 AND f.id = ANY (ARRAY(SELECT t.id FROM due AS t))
), told AS (
  INSERT INTO knowledge_events (event_type, actor, tenant_id, memory_type, memory_id, request_id, payload, created_at)
  SELECT 'fact_' || d.change, $5, $1, 'fact', d.id, $6,
    jsonb_build_object('effective_confidence', d.effective, 'was_fading', d.is_fading), $4
  FROM due AS d ORDER BY d.id
)
SELECT
  (SELECT count(*) FROM page) AS checked,
  (SELECT p.id FROM page AS p ORDER BY p.id DESC LIMIT 1) AS last_id,
  count(*) FILTER (WHERE d.change = 'fading') AS fading,
  count(*) FILTER (WHERE d.change = 'recovered') AS recovered,
  count(*) FILTER (WHERE d.change = 'expired') AS expired
FROM due AS d;

-- name: sweep_rules
-- As sweep_facts, of rules: one that expires is forgotten. Those that are forgotten are not looked at, nor are
-- anti-patterns.
WITH page AS MATERIALIZED (
  SELECT
    r.id, r.last_confirmed_at, r.metadata ->> 'status' IS NOT DISTINCT FROM 'fading' AS is_fading,
    CASE WHEN r.last_confirmed_at IS NULL THEN 0 ELSE r.confidence
      * exp(greatest(-500, -r.decay_rate * greatest(0, extract(epoch FROM $4 - r.last_confirmed_at)::float8 / 86400)))
    END AS effective
  FROM knowledge_rules AS r
  WHERE r.tenant_id = $1 AND r.id > $2 AND r.maturity <> 'anti_pattern' AND r.decay_rate > 0
    AND r.metadata -> 'forgotten' IS DISTINCT FROM 'true'
  ORDER BY r.id LIMIT $3
), turned AS MATERIALIZED (
  SELECT p.* FROM page AS p WHERE p.effective < 0.05 OR (p.effective < 0.2) <> p.is_fading
), due AS MATERIALIZED (
  SELECT r.id, p.effective, p.is_fading,
    CASE WHEN p.effective < 0.05 THEN 'expired' WHEN p.effective < 0.2 THEN 'fading' ELSE 'recovered' END AS change
  FROM turned AS p JOIN knowledge_rules AS r ON r.id = p.id
  WHERE r.tenant_id = $1 AND r.id = ANY (ARRAY(SELECT t.id FROM turned AS t))
    AND r.maturity <> 'anti_pattern' AND r.metadata -> 'forgotten' IS DISTINCT FROM 'true'
    AND r.last_confirmed_at IS NOT DISTINCT FROM p.last_confirmed_at
    AND (r.metadata ->> 'status' IS NOT DISTINCT FROM 'fading') = p.is_fading
  ORDER BY r.id FOR NO KEY UPDATE OF r
), changed AS (
  UPDATE knowledge_rules AS r
  SET metadata = CASE d.change
    WHEN 'fading' THEN r.metadata || '{"status": "fading"}'
    WHEN 'expired' THEN r.metadata - 'status' || '{"forgotten": true}'
    ELSE r.metadata - 'status' END
  FROM due AS d
  WHERE r.id = d.id AND r.tenant_id = $1 AND r.id = ANY (ARRAY(SELECT t.id FROM due AS t))
), told AS (
  INSERT INTO knowledge_events (event_type, actor, tenant_id, memory_type, memory_id, request_id, payload, created_at)
  SELECT 'rule_' || d.change, $5, $1, 'rule', d.id, $6,
    jsonb_build_object('effective_confidence', d.effective, 'was_fading', d.is_fading), $4
  FROM due AS d ORDER BY d.id
)
SELECT
  (SELECT count(*) FROM page) AS checked,
  (SELECT p.id FROM page AS p ORDER BY p.id DESC LIMIT 1) AS last_id,
  count(*) FILTER (WHERE d.change = 'fading') AS fading,
  count(*) FILTER (WHERE d.change = 'recovered') AS recovered,
  count(*) FILTER (WHERE d.change = 'expired') AS expired
FROM due AS d;
