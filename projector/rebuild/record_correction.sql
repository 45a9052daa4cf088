-- Records that no call of a phone system ($3) has an updated_at below $4. The later time counts.
insert into control.correction as c (stream, partition, system_id, clock)
values ($1, $2, $3, $4)
on conflict (stream, system_id) do update
set clock = greatest(c.clock, excluded.clock), recorded_at = now()
