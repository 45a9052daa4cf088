select
  partition,
  stream,
  sequence,
  epoch,
  last_message,
  last_message_at,
  clock,
  watermark
from %s.position p
