-- $1 the ID. The stream is the one that is read now. A retry that was published is waited for until the position has passed it.
with live as materialized (
  select partition, stream, stream_created, sequence
  from projection.position
)
select
  coalesce(
    (
      select a.stream
      from control.adopted_stream a
      where a.history = d.stream
        and a.history_created = d.stream_created
      order by a.id desc
      limit 1
    ),
    d.stream
  ) as stream,
  d.sequence,
  d.stored_at,
  d.subject,
  d.header,
  d.data,
  d.tries,
  d.resolution is null as open,
  d.retry_sequence is not null and coalesce(p.sequence < d.retry_sequence, true) as published
from control.dead_letter d
left join live p
  on p.partition = d.partition
  and p.stream = d.stream
  and p.stream_created = d.stream_created
where d.id = $1
