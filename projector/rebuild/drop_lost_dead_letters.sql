-- Resolves a dead letter whose message the stream has lost: there is nothing to retry.
update control.dead_letter
set resolution = 'dropped', resolved_at = coalesce(resolved_at, now()),
    retried_at = null
where stream = $1
  and sequence = $2
  and stored_at >= $3
  and stored_at < $3 + interval '1 millisecond'
