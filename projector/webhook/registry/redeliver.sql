-- Makes waiting deliveries among $1 due now, and finished ones wait again, under their ids. It records that $2 did it, and returns the ids that no
-- delivery has.
with waiting as (
  update webhook.waiting
  set due_at = least(due_at, now())
  where id = any ($1)
  returning id
),
again as (
  update webhook.delivery
  set state = 'waiting', finished_at = 'infinity', cause = 'redelivered', tries = 0, due_at = now(), expires_at = null
  where finished_at < 'infinity'
    and id = any ($1)
  returning id, endpoint_id
),
audited as (
  insert into webhook.audit (by, command, endpoint_id, after)
  select $2, 'redeliver', endpoint_id, jsonb_build_object('deliveries', count(*))
  from again
  group by endpoint_id
)
select id::text
from unnest($1::bigint[]) id
where id not in (select id from waiting union all select id from again)
order by id
