-- A text by which an entry is found has as many characters as a config may let it have; longer ones were written before
-- there was a bound. The entry itself stays whole.
UPDATE conversation_texts SET text = left(text, 500000), changed_at = greatest(now(), changed_at + interval '1 microsecond')
WHERE octet_length(text) > 500000 AND length(text) > 500000;
