select
  partition,
  stream,
  stream_created,
  sequence,
  0::bigint as message,
  to_timestamp(0) as stored,
  watermark,
  null::jsonb as coverage
from projection.position
