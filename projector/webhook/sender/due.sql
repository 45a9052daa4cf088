-- What can be sent now to endpoints ($1) that this session has leased: of each, deliveries that are due, $3 at most, and with the $2 in flight no
-- more than may run at once; where the breaker is open, the probe, which is the oldest one whether due or not. Those in flight ($4) are left out. The
-- settings and secrets are those of now. $5 is the id of nothing.
select
  d.id, d.endpoint_id, d.event_id, d.kind, d.system_id, d.call_sid, coalesce(d.recording_sid, ''), coalesce(d.call_log_id, $5),
  coalesce(d.voicemail_id, $5), d.at, d.cause, d.tries, d.due_at, d.expires_at, e.probe_at is not null as probe, e.url, e.concurrency, e.secrets
from unnest($1::uuid[], $2::integer[]) asked (id, in_flight)
join webhook.endpoint e on e.id = asked.id
  and e.state = 'active'
  and e.leased_by = pg_backend_pid()
  and e.leased_until > now()
cross join lateral (
  (
    select *
    from webhook.waiting
    where endpoint_id = e.id
      and e.probe_at is null
      and due_at <= now()
      and id <> all ($4::bigint[])
    order by due_at, id
    limit greatest(least(least(e.slots, e.concurrency) - asked.in_flight, $3), 0)
  )
  union all
  (
    -- The order is that of an index. By ids alone, it would be that of another one, which has deliveries of all endpoints.
    select *
    from (
      select *
      from webhook.waiting
      where (endpoint_id, id) >= (e.id, 0)
        and e.probe_at <= now()
        and asked.in_flight = 0
      order by endpoint_id, id
      limit 1
    ) oldest
    where endpoint_id = e.id
  )
) d
order by d.endpoint_id, d.due_at, d.id
