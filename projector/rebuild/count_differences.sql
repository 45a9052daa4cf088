-- How many rows are expected, and how many of them are missing, surplus or changed; then the phone systems of which reports may show other values.
select
  count({built key}),
  count(*) filter (where {live key} is null),
  count(*) filter (where {built key} is null),
  count(*) filter (where {live key} is not null and {built key} is not null and ({differ})),
  coalesce(array_agg(distinct {system}) filter (where {system} is not null and {announced} and ({differ})), '{}')
from (select * from {live} where {where}) l
full join (select * from {built} where {where}) n on {joined}
