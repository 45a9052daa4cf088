insert into message_count as c (partition, entity, read, applied, stale, ignored, dead, conflicting)
select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[])
on conflict (partition, entity) do update
set read = c.read + excluded.read,
    applied = c.applied + excluded.applied,
    stale = c.stale + excluded.stale,
    ignored = c.ignored + excluded.ignored,
    dead = c.dead + excluded.dead,
    conflicting = c.conflicting + excluded.conflicting
