update generation as g
set partitions = s.partitions
from control.stream as s
where g.partitions is null
  and s.stream = $1
