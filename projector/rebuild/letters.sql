select sequence, subject, reason
from control.dead_letter
where generation = $1
order by sequence
limit 1000
