select
  partition,
  stream,
  stream_created,
  sequence,
  watermark,
  null::jsonb as coverage
from projection.position
