-- Skips waiting deliveries that were created before $1, and returns how many, up to $2 of the lowest ids: ids rise with the time of creation.
-- Those that were redelivered keep their ids, and wait since they were due. Later ones are not in the slice, so that they don't fill it.
with slice as (
  select id, cause, created_at
  from webhook.waiting
  where cause <> 'redelivered'
    or due_at < $1
  order by id
  limit $2
),

-- Only what expires is locked: a delivery that ends meanwhile moves to another table, where a waiting lock would fail.
expired as (
  select id
  from webhook.waiting
  where id = any (array(select id from slice where cause = 'redelivered' or created_at < $1))
  for update skip locked
),
skipped as (
  update webhook.delivery d
  set state = 'skipped', finished_at = now()
  from expired
  where d.finished_at = 'infinity'
    and d.id = expired.id
  returning d.id
)
select count(*)
from skipped
