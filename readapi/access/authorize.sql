-- Everything that decides about a key by its short part ($1) and the phone system $2, in one snapshot, and the number of the
-- generation's partitions: with another number, the phone system may be in another partition. $3 is the phone system's
-- partition, $4 that of the groups.
--
-- The age is how far the partition that decides about the grant is behind: that of the groups about a group, that of the
-- phone system about an organization. A partition that no event has reached has no age, and nothing in it is covered.
select
  k.id,
  k.lineage,
  k.hash,
  k.pepper_id,
  k.grant_kind,
  k.grant_id,
  k.scopes,
  k.own_extension_id,
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
    when k.grant_kind <> 'system' then (
      select extract(epoch from now() - w.watermark)::float8
      from projection.position w
      where w.partition = case k.grant_kind when 'group' then $4 else $3 end
        and w.watermark > to_timestamp(0)
    )
  end as coverage_age,
  case when not exists (
    select
    from projection.tombstone t
    where t.partition = $3
      and t.system_id = $2
      and t.entity = 'extension'
      and t.key = k.own_extension_id::text
  ) then k.own_extension_id end as extension_id,
  (select coalesce(g.partitions, 0) from projection.generation g) as partitions
from access.key k
where k.short = $1
