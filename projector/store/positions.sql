-- A projection of an earlier release has neither turns nor last messages.
select
  partition,
  stream,
  stream_created,
  sequence,
  epoch,
  coalesce((to_jsonb(p) ->> 'turn')::bigint, 0),
  coalesce((to_jsonb(p) ->> 'message')::bigint, 0),
  coalesce((to_jsonb(p) ->> 'stored')::timestamptz, to_timestamp(0)),
  clock,
  watermark
from %s.position p
