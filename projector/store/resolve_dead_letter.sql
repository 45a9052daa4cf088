update control.dead_letter
set resolution = $5, resolved_at = now(), retry_requested_at = null, retry_position = $6, retry_clock = $7, retry_seq = $8
where stream = $1
  and stream_created = $2
  and sequence = $3
  and stored_at = $4
  and resolution is null
