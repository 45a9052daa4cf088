-- Messages up to the live positions that are dead letters of generation $1 only, the first $2.
select d.sequence, d.subject, d.reason
from control.dead_letter d
join projection.position p using (partition, stream)
where d.generation = $1
  and d.sequence <= p.sequence
order by d.sequence
limit $2
