select
  partition,
  stream,
  stream_created,
  sequence,
  watermark
from projection.position
