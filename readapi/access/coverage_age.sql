-- The groups' partition ($4) decides about a group, and the phone system's partition ($3) about an organization. A partition that no
-- event has reached has no age, and nothing in it is covered.
case
  when k.grant_kind <> 'system' then (
    select extract(epoch from now() - w.watermark)::float8
    from projection.position w
    where w.partition = case k.grant_kind when 'group' then $4 else $3 end
      and w.watermark > to_timestamp(0)
  )
end
