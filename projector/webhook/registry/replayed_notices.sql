  -- What became fetchable from $2 until $3, of some kinds ($4), in phone systems ($1). Notices above the fan-out's position are left out: they
  -- are not fetchable from every replica yet, and are sent anyway.
  select n.*
  from webhook.notice n
  join webhook.fanout f on f.stream = n.stream
    and f.partition = n.partition
    and f.sequence >= n.sequence
  where n.system_id = any($1)
    and n.at >= $2
    and n.at < $3
    and n.recorded_at >= $2::timestamptz - interval '1 hour' -- leaves out older days; the clocks of stream and database can differ
    and n.kind = any($4)
