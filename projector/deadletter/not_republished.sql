-- $1 the name of the stream. The dead letters that a retry of an earlier release applied: that release kept in the database when it did, and
-- a replay finds nothing in the stream.
with live as materialized (
  select partition, stream, stream_created
  from projection.position
)
select id
from control.dead_letter d
where stream = $1
  and resolution = 'applied'
  and retry_seq is not null
  and retry_sequence is null
  and not exists (
    select from live p
    where p.partition = d.partition
      and (p.stream, p.stream_created) <> (d.stream, d.stream_created)
  )
order by stream_created, sequence
