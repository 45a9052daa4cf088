insert into directory as d (system_id, version)
select * from unnest($1::uuid[], $2::bigint[])
on conflict (system_id) do update
set version = d.version + excluded.version
