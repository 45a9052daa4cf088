update control.dead_letter
set reason = $4, failed_at = now(), retry_sequence = null, retried_at = null
where stream = $1
  and sequence = $2
  and stored_at >= $3
  and stored_at < $3 + interval '1 millisecond'
  and resolution is null
