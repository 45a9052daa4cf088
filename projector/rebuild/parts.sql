select partition, part, systems, sequence, read is not null
from control.generation_part
where generation = $1
order by partition, part
