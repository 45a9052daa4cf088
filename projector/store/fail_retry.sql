update control.dead_letter
set reason = $5, retry_requested_at = null
where stream = $1
  and stream_created = $2
  and sequence = $3
  and stored_at = $4
  and resolution is null
