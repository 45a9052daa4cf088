update control.dead_letter
set reason = $5, tries = tries + 1, failed_at = now(), retry_sequence = null, retried_at = null
where stream = $1
  and stream_created = $2
  and sequence = $3
  and stored_at >= $4
  and stored_at < $4 + interval '1 millisecond'
  and resolution is null
