-- The first rows that differ, as texts.
select
  {live key} is not null,
  {built key} is not null,
  array[{served}],
  array[{expected}]
from (select * from {live} where {where}) l
full join (select * from {built} where {where}) n on {joined}
where {differ}
order by {order}
limit {limit}
