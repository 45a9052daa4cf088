-- Creates the deliveries of the notices from cursors ($1 to $3) up to sequences ($4), and moves the cursors there. $5 are the phone systems that
-- exist, $6 their organizations. Ids of deliveries rise in the order of a partition's notices, and so do the times at which they are due. These
-- are not the transaction's start, which can be earlier than that of another transaction whose cursors it waited for. Of other streams than
-- that at which an endpoint was added, it gets what was recorded since: a stream that was replaced before can have notices that were held.
with cursor_range as materialized (
  select *
  from unnest($1::uuid[], $2::smallint[], $3::bigint[], $4::bigint[]) c (stream, partition, after, up_to)
),
phone_system as materialized (
  select *
  from unnest($5::uuid[], $6::uuid[]) s (id, organization_id)
),
fresh as materialized (
  select n.*
  from cursor_range c
  join webhook.notice n on n.stream = c.stream
    and n.partition = c.partition
    and n.sequence > c.after
    and n.sequence <= c.up_to
),
covered as materialized (
  select n.*, e.id as endpoint_id
  from fresh n
  join phone_system s on s.id = n.system_id
  join webhook.endpoint e on e.state in ('adding', 'active', 'paused', 'disabled')
    and n.kind = any (e.kinds)
    and (
      e.from_sequence is null
      or case
        when n.stream = e.stream then n.sequence > e.from_sequence
        else n.recorded_at >= e.created_at
      end
    )
  where case e.grant_kind
      when 'system' then s.id = e.grant_id
      when 'organization' then s.organization_id = e.grant_id
      when 'group' then exists (
        select
        from projection.phone_system_group_member m
        where m.system_id = s.id
          and m.group_id = e.grant_id
      )
    end
),
created as (
  insert into webhook.delivery (
    endpoint_id, stream, sequence, event_id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, due_at
  )
  select
    endpoint_id, stream, sequence, id, kind, system_id, call_sid, recording_sid, call_log_id, voicemail_id, at,
    traceparent, clock_timestamp()
  from covered
  order by partition, sequence, ordinal, endpoint_id
),
moved as (
  update webhook.fanout f
  set sequence = c.up_to
  from cursor_range c
  where f.stream = c.stream
    and f.partition = c.partition
)
select
  (select count(*) from fresh),
  (select count(*) from covered),
  (
    select count(*)
    from fresh n
    where not exists (select from phone_system s where s.id = n.system_id)
  ) as skipped,
  (select coalesce(array_agg(distinct endpoint_id), '{}') from covered) as endpoints
