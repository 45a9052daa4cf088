-- A cursor for each partition that has notices for the first time.
insert into webhook.fanout (stream, stream_created, partition)
select f.stream, f.stream_created, f.partition
from webhook.floor f
where not exists (
  select
  from webhook.fanout c
  where c.stream = f.stream
    and c.stream_created = f.stream_created
    and c.partition = f.partition
)
on conflict do nothing
