select
  id,
  lineage,
  name,
  short,
  grant_kind,
  grant_id,
  scopes,
  own_extension_id,
  allowed_networks,
  tier,
  created_at,
  expires_at,
  revoked_at,
  case
    when revoked_at <= now() then 'revoked'
    when expires_at <= now() then 'expired'
    else 'active'
  end as state
from access.key
order by created_at desc, id desc
