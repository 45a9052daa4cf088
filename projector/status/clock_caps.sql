-- The messages of the last day that count as stored earlier than the stream says, and how far ahead the stream was at most, in seconds.
select
  coalesce(sum(messages), 0)::bigint as messages,
  coalesce(extract(epoch from max(last_stored_at - clock)), 0)::float8 as ahead
from control.clock_adjustment
where capped
  and recorded_at > now() - interval '24 hours'
