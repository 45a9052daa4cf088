-- The newest changes of an endpoint ($1), the newest first.
select at, role, by, command, before::text, after::text
from webhook.audit
where endpoint_id = $1
order by at desc, id desc
limit 20
