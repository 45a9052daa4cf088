-- Everything that decides about a key and the phone system in the path ($2, in partition $3; null if the path has none), in one snapshot,
-- and the number of the generation's partitions: with another one, the phone system may be in another partition. $4 is the partition of
-- the groups.
--
-- The age is how far the partition that decides about the grant is behind: that of the groups, or that of the phone system. The list of
-- an organization's phone systems is as old as the oldest of their partitions. The limit in the lateral query keeps it a probe per
-- partition, however many phone systems there are. A partition that no event has reached has no age, and nothing in it is covered.
select
  k.id,
  k.lineage,
  k.hash,
  k.pepper_id,
  k.grant_kind,
  k.grant_id,
  k.scopes,
  k.allowed_networks,
  k.tier,
  k.revoked_at is not null as revoked,
  coalesce(k.expires_at <= now(), false) as expired,
  exists (
    select
    from projection.phone_system s
    where s.partition = $3
      and s.id = $2
      and case k.grant_kind
        when 'system' then s.id = k.grant_id
        when 'organization' then s.organization_id = k.grant_id
        when 'group' then exists (
          select
          from projection.phone_system_group_member m
          where m.system_id = s.id
            and m.group_id = k.grant_id
        )
      end
  ) as covered,
  case
    when k.grant_kind = 'group' then (
      select extract(epoch from now() - w.watermark)::float8
      from projection.position w
      where w.partition = $4
        and w.watermark > to_timestamp(0)
    )
    when k.grant_kind = 'organization' and $2 is not null then (
      select extract(epoch from now() - w.watermark)::float8
      from projection.position w
      where w.partition = $3
        and w.watermark > to_timestamp(0)
    )
    when k.grant_kind = 'organization' then (
      select extract(epoch from now() - w.watermark)::float8
      from projection.position w
      cross join lateral (
        select
        from projection.phone_system s
        where s.organization_id = k.grant_id
          and s.partition = w.partition
        limit 1
      ) s
      where w.partition >= 0 -- every one, by the index
        and w.watermark > to_timestamp(0)
      order by w.watermark
      limit 1
    )
  end as coverage_age,
  k.own_extension_id is not null as narrowed,
  (
    select e.id
    from projection.extension e
    where e.partition = $3
      and e.system_id = $2
      and e.id = k.own_extension_id
  ) as own_extension_id,
  (select coalesce(g.partitions, 0) from projection.generation g) as partitions
from access.key k
where k.short = $1
