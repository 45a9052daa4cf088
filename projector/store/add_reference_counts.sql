insert into reference_count as r (system_id, family, key, count)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
on conflict (system_id, family, key) do update
set count = r.count + excluded.count
