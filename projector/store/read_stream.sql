-- The stream that is read of the history to which a stream ($1, $2) belongs, and the history's identity. $2 is null for a stream that is gone:
-- then it is the last one with the name. No row: no stream was adopted in that history.
select a.stream, a.stream_created, a.history, a.history_created
from control.adopted_stream a
join (
  select history, history_created
  from control.adopted_stream
  where (stream = $1 and stream_created = coalesce($2, stream_created))
    or (history = $1 and history_created = coalesce($2, history_created))
  order by id desc
  limit 1
) of using (history, history_created)
order by a.id desc
limit 1
