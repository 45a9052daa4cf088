-- Skips waiting deliveries of an endpoint ($1), up to $2 of them, the oldest first.
with slice as (
  select id
  from webhook.waiting
  where endpoint_id = $1
  order by id
  limit $2
  for update
)
update webhook.delivery d
set state = 'skipped', finished_at = now()
from slice
where d.finished_at = 'infinity'
  and d.id = slice.id
