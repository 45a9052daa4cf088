update control.dead_letter
set resolution = $4, resolved_at = now(), retry_at = null, position = $5, clock = $6, turn = $7
where stream = $1
  and stream_created = $2
  and sequence = $3
  and stored_at = $8
  and resolution is null
