-- How many dead letters a retry of an earlier release applied whose messages were not published again since.
select count(*)
from control.dead_letter
where stream = $1
  and stream_created = $2
  and resolution = 'applied'
  and retry_seq is not null
  and retry_sequence is null
