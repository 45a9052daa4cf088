-- Moves the position, unless another writer has moved it. A writer that comes second waits here until the first one has committed.
update control.audit_position
set sequence = $2, stored_at = $3
where sequence = $1
