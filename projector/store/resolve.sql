update control.dead_letter
set resolution = $4, resolved_at = now(), retry_requested_at = null, retry_position = $5, retry_clock = $6, retry_seq = $7
where stream = $1
  and stream_created = $2
  and sequence = $3
  and stored_at = $8
  and resolution is null
