-- One statement, so that positions and counts are of one snapshot. Tables of earlier releases have other names for the last message, or none.
select
  p.partition,
  p.stream,
  p.stream_created,
  p.sequence,
  coalesce(to_jsonb(p) ->> 'last_message', to_jsonb(p) ->> 'message', '0')::bigint as last_message,
  coalesce(to_jsonb(p) ->> 'last_message_at', to_jsonb(p) ->> 'stored', '1970-01-01T00:00:00Z')::timestamptz as last_message_at,
  p.watermark,
  coalesce(
    (select jsonb_agg(to_jsonb(c) order by c.entity collate "C") from projection.message_count c where c.partition = p.partition),
    '[]'
  ) as message_counts
from projection.position p
