-- Makes the dead letters of newer generations, up to the live one, those of the generation on the search path, too: 0 is
-- before any generation.
update control.dead_letter d
set generation = 0
from generation g
where d.stream = $1
  and d.partition = $2
  and d.sequence > $3
  and d.generation > g.id
  and d.generation <= (select id from control.generation where state = 'live')
