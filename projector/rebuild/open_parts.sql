select partition, part, systems, sequence, retry_seq
from control.generation_part
where generation = $1
  and read is null
order by partition, part
