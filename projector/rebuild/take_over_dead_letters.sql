-- Makes the dead letters of newer generations, up to the live one, those of the generation on the search path.
update control.dead_letter
set generation = (select id from generation)
where stream = $1
  and stream_created = $2
  and partition = $3
  and sequence > $4
  and generation > (select id from generation)
  and generation <= (select id from control.generation where state = 'live')
