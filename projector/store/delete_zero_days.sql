delete from day_count
where (system_id, list, subset, day) in (select * from unnest($1::uuid[], $2::text[], $3::text[], $4::date[]))
  and count = 0
