select
  partition,
  stream,
  stream_created,
  sequence,
  0::bigint as last_message,
  to_timestamp(0) as last_message_at,
  watermark,
  null::jsonb as message_counts
from projection.position
