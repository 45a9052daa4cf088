-- $1 the ID, $2 how many retries had failed before this one was published, $3 its sequence. A projector may have decided it already.
update control.dead_letter
set retried_at = now(), retry_sequence = $3
where id = $1
  and tries = $2
  and resolution is null
