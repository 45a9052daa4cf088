insert into day_count as d (system_id, list, subset, day, count)
select * from unnest($1::uuid[], $2::text[], $3::text[], $4::date[], $5::bigint[])
on conflict (system_id, list, subset, day) do update
set count = d.count + excluded.count
