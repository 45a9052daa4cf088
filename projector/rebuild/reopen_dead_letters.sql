-- Opens the dead letters of a partition again, because the stream may have lost the retries that resolved them. Another retry of one that was
-- applied is stale.
update control.dead_letter
set resolution = null, resolved_at = null, retried_at = null, retry_sequence = null
where stream = $1
  and partition = $2
  and resolution is distinct from 'dropped'
