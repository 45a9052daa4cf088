-- A cursor for each partition that has notices for the first time.
insert into webhook.fanout (stream, partition)
select f.stream, f.partition
from webhook.floor f
where not exists (
  select
  from webhook.fanout c
  where c.stream = f.stream
    and c.partition = f.partition
)
on conflict do nothing
