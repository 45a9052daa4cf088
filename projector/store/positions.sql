-- A projection of an earlier release has these columns under earlier names, or not at all.
select
  partition,
  stream,
  stream_created,
  sequence,
  epoch,
  coalesce(to_jsonb(p) ->> 'last_message', to_jsonb(p) ->> 'message', '0')::bigint,
  coalesce(to_jsonb(p) ->> 'last_message_at', to_jsonb(p) ->> 'stored', '1970-01-01T00:00:00Z')::timestamptz,
  clock,
  watermark
from %s.position p
