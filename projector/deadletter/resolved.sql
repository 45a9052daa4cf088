-- $1 the IDs of dead letters that were waiting. The reason is given for open ones.
select
  requested.id,
  coalesce(d.state, 'gone') as state,
  case when d.resolution is null then coalesce(d.reason, '') else '' end as reason
from unnest($1::bigint[]) as requested (id)
left join control.dead_letter d on d.id = requested.id
where d.id is null
  or d.resolution is not null
  or d.retried_at is null
