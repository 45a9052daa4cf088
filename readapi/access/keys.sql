-- Keys and their last use, newest first. Their state is the statement's: a transaction that has waited began before it.
select
  k.id,
  k.lineage,
  k.pepper_id,
  k.name,
  k.short,
  k.grant_kind,
  k.grant_id,
  k.scopes,
  k.own_extension_id,
  k.allowed_networks,
  k.tier,
  k.created_at,
  k.expires_at,
  k.revoked_at,
  case
    when k.revoked_at is not null then 'revoked'
    when k.expires_at <= statement_timestamp() then 'expired'
    else 'active'
  end as state,
  u.at,
  u.address
from access.key k
left join access.key_use u on u.key_id = k.id
where {{which}}
order by k.created_at desc, k.id desc
