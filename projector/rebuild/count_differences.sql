-- How many rows are expected, and how many of them are missing, surplus or changed. Each node counts its own: an aggregate of distinct values
-- would need all rows on one.
select
  count({built key}),
  count(*) filter (where {live key} is null),
  count(*) filter (where {built key} is null),
  count(*) filter (where {live key} is not null and {built key} is not null and ({differ}))
from (select * from {live} where {where}) l
full join (select * from {built} where {where}) n on {joined}
