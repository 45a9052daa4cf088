-- A dead letter that only newer generations than the live one have recorded becomes this generation's.
insert into control.dead_letter as d (stream, sequence, partition, subject, header, data, reason, stored_at, generation)
select $1, $2, $3, $4, $5, $6, $7, $8, g.id
from generation g
on conflict (stream, sequence) do update
set generation = excluded.generation
where d.generation <> excluded.generation
  and d.generation > (select id from control.generation where state = 'live')
