-- Messages up to the live positions that became dead letters of generation $1 alone since the live one is live, the
-- first $2. A previous generation has older ones, which the live one has, too.
select d.sequence, d.subject, d.reason
from control.dead_letter d
join projection.position p using (partition, stream)
where d.generation = $1
  and d.recorded_at >= coalesce((select switched_at from control.generation where state = 'live'), '-infinity')
  and d.sequence <= p.sequence
order by d.sequence
limit $2
