-- The phone systems of which reports may show other values.
select distinct {system}
from (select * from {live} where {where}) l
full join (select * from {built} where {where}) n on {joined}
where {announced}
  and ({differ})
