-- What a retry did is done again, behind what is there then: the stream goes on with other messages than it did.
update control.dead_letter
set resolution = null, resolved_at = null, retry_at = now(), position = null, clock = null, turn = null
where stream = $1
  and stream_created = $2
  and partition = $3
  and turn is not null
  and resolution <> 'dropped'
