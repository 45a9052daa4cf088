-- Moves the position, unless another writer has moved it. A writer that comes second waits here until the first one has committed.
update control.audit_position
set stream_created = $4, sequence = $5, stored_at = $6
where stream = $1
  and stream_created = $2
  and sequence = $3
