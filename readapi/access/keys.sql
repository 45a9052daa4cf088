-- Keys and their last use, newest first. The state is that at the start of the statement, because a transaction may have waited for
-- a lock since its start.
select
  k.id,
  k.lineage,
  k.pepper_id as pepper,
  k.name,
  k.short,
  k.grant_kind,
  k.grant_id,
  k.scopes,
  k.own_extension_id as own_extension,
  k.allowed_networks as networks,
  k.tier,
  k.created_at,
  k.expires_at,
  k.revoked_at,
  case
    when k.revoked_at is not null then 'revoked'
    when k.expires_at <= statement_timestamp() then 'expired'
    else 'active'
  end as state,
  u.at as last_used_at,
  u.address as last_used_address
from access.key k
left join access.key_use u on u.key_id = k.id
where {{condition}}
order by k.created_at desc, k.id desc
