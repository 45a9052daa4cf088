-- $1 the ID, $2 the sequence of the message.
update control.dead_letter
set retry_sequence = $2
where id = $1
