-- How many senders there are, and the shards that are free.
select
  (select count(distinct pid) from webhook.shard_owner where shard > 63),
  array(
    select n
    from generate_series(0, 63) n
    where not exists (select from webhook.shard_owner where shard = n)
  )
