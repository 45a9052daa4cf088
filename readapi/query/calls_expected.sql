(
    -- Without a call frontier, nobody knows.
    select coalesce(bool_or(f.through < $5), false)
    from projection.call_frontier f
    where f.partition = $1
      and f.system_id = $2
  )