select id, definition = $1 and stream = $2
from control.generation
where state = 'building'
