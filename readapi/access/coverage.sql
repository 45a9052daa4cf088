-- What a grant ($3, $4) allows in the phone system $2, in partition $1, read from the partition's node: whether it covers the
-- phone system, the age of the partition that decides about an organization, the extension ($5) that the key is narrowed to
-- unless it was deleted, and the number of the generation's partitions.
select
  exists (
    select
    from projection.phone_system s
    where s.partition = $1
      and s.id = $2
      and case $3::text
        when 'system' then s.id = $4::uuid
        when 'organization' then s.organization_id = $4
        when 'group' then exists (
          select
          from projection.phone_system_group_member m
          where m.system_id = s.id
            and m.group_id = $4
        )
      end
  ) as covered,
  case
    when $3 = 'organization' then (
      select extract(epoch from now() - w.watermark)::float8
      from projection.position w
      where w.partition = $1
        and w.watermark > to_timestamp(0)
    )
  end as coverage_age,
  case when not exists (
    select
    from projection.tombstone t
    where t.partition = $1
      and t.system_id = $2
      and t.entity = 'extension'
      and t.key = $5::uuid::text
  ) then $5::uuid end as extension_id,
  coalesce(g.partitions, 0) as partitions
from projection.generation g
