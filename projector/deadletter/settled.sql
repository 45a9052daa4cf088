-- $1 the ids of letters that were waiting. A reason is given where it still is what stands in the way.
select
  asked.id,
  coalesce(d.state, 'gone') as state,
  case when d.resolution is null then coalesce(d.reason, '') else '' end as reason
from unnest($1::bigint[]) as asked (id)
left join control.dead_letter d on d.id = asked.id
where d.id is null
  or d.resolution is not null
  or d.retry_requested_at is null
