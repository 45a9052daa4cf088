(
    -- Whether the publisher says that calls before the window's end ($5) are still to be published; false without a call frontier.
    select coalesce(bool_or(f.through < $5), false)
    from projection.call_frontier f
    where f.partition = $1
      and f.system_id = $2
  )