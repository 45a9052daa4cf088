select id, created_at, expires_at
from webhook.secret
where endpoint_id = $1
  and (expires_at is null or expires_at > now())
order by created_at desc, id
