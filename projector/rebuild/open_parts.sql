select partition, part, systems, sequence
from control.generation_part
where generation = $1
  and read is null
order by partition, part
