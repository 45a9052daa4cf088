update control.dead_letter
set resolution = $5, resolved_at = now(), retry_sequence = $6, retried_at = null
where stream = $1
  and stream_created = $2
  and sequence = $3
  and stored_at >= $4
  and stored_at < $4 + interval '1 millisecond'
  and resolution is null
