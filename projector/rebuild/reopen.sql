-- What a retry did is done again, behind what is there then: the stream goes on with other messages than it did.
update control.dead_letter
set resolution = null, resolved_at = null, retry_requested_at = now(), retry_position = null, retry_clock = null, retry_seq = null
where stream = $1
  and stream_created = $2
  and partition = $3
  and retry_seq is not null
  and resolution <> 'dropped'
