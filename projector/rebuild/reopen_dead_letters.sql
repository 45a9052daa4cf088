-- Requests every retry of a partition again, because the stream continues with other messages: the retry is applied after these.
update control.dead_letter
set resolution = null, resolved_at = null, retry_requested_at = now(), retry_position = null, retry_clock = null, retry_seq = null
where stream = $1
  and stream_created = $2
  and partition = $3
  and retry_seq is not null
  and resolution <> 'dropped'
