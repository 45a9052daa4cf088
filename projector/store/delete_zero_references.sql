delete from reference_count
where (system_id, family, key) in (select * from unnest($1::uuid[], $2::text[], $3::text[]))
  and count = 0
