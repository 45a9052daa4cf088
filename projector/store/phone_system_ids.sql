-- A loose index scan: each step asks the primary key for the first system after the last one. %[3]s is a condition on all rows.
(with recursive system (id) as (
  (select %[2]s from %[1]s where %[3]s order by %[2]s limit 1)
  union all
  select (select %[2]s from %[1]s where %[2]s > system.id and %[3]s order by %[2]s limit 1)
  from system
  where system.id is not null
)
select id from system where id is not null)
