-- One statement, so that positions and counts are of one snapshot.
select
  p.partition,
  p.stream,
  p.sequence,
  p.last_message,
  p.last_message_at,
  p.watermark,
  coalesce(
    (select jsonb_agg(to_jsonb(c) order by c.entity collate "C") from projection.message_count c where c.partition = p.partition),
    '[]'
  ) as message_counts
from projection.position p
