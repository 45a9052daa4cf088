-- Position and ledger are of one snapshot: each is what it is because of the other. An earlier release's knows no last message.
select
  p.partition,
  p.stream,
  p.stream_created,
  p.sequence,
  coalesce((to_jsonb(p) ->> 'message')::bigint, 0) as message,
  coalesce((to_jsonb(p) ->> 'stored')::timestamptz, to_timestamp(0)) as stored,
  p.watermark,
  coalesce(
    (select jsonb_agg(to_jsonb(c) order by c.entity collate "C") from projection.coverage c where c.partition = p.partition),
    '[]'
  ) as coverage
from projection.position p
