-- Records that no call of a phone system ($4) has an updated_at below $5. The later time counts.
insert into control.correction as c (stream, stream_created, partition, system_id, clock)
values ($1, $2, $3, $4, $5)
on conflict (stream, stream_created, system_id) do update
set clock = greatest(c.clock, excluded.clock), recorded_at = now()
