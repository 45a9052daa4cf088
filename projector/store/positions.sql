-- A projection of an earlier release has no turns.
select partition, stream, stream_created, sequence, epoch, coalesce((to_jsonb(p) ->> 'turn')::bigint, 0), clock, watermark
from %s.position p
