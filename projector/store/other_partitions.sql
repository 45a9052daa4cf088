select exists (
  select
  from generation as g
  join control.stream as s on s.partitions <> g.partitions
  where s.stream = $1
)
