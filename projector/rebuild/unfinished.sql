select id, definition = $1 and stream = $2 and stream_created = $3
from control.generation
where state = 'building'
