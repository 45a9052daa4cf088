-- The late calls of the phone systems with a call frontier. A phone system without late calls has no row in month_count.
select
  coalesce(sum(m.count), 0)::bigint as calls,
  count(distinct m.system_id) as phone_systems
from projection.call_frontier f
join projection.month_count m on m.partition = f.partition
  and m.system_id = f.system_id
  and m.list = 'late_call'
  and m.subset = ''
