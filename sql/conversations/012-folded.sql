-- A text in which case makes no difference, in any locale: i with and without a dot, and both forms of a small sigma, are
-- one letter each.
CREATE OR REPLACE FUNCTION conversation_folded(written text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN translate(replace(lower(written), U&'i\0307', 'i'), U&'\03C2', U&'\03C3');
