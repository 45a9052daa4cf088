-- Resolves a dead letter whose message the stream has lost: there is nothing to retry.
update control.dead_letter
set resolution = 'dropped', resolved_at = coalesce(resolved_at, now()),
    retried_at = null
where stream = $1
  and stream_created = $2
  and sequence = $3
  and stored_at >= $4
  and stored_at < $4 + interval '1 millisecond'
