-- Position and ledger are of one snapshot: each is what it is because of the other.
select
  p.partition,
  p.stream,
  p.stream_created,
  p.sequence,
  p.watermark,
  coalesce(
    (select jsonb_agg(to_jsonb(c) order by c.entity collate "C") from projection.coverage c where c.partition = p.partition),
    '[]'
  ) as coverage
from projection.position p
