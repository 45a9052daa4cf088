  -- What became fetchable from $3 until $4, of some kinds ($5), in the phone systems that a target ($1, $2) covers now. Notices above the
  -- fan-out's position are left out: they are not fetchable from every replica yet, and are sent anyway.
  select n.*
  from projection.phone_system s
  join webhook.notice n on n.system_id = s.id
  join webhook.fanout f on f.stream = n.stream
    and f.stream_created = n.stream_created
    and f.partition = n.partition
    and f.sequence >= n.sequence
  where case $1
      when 'system' then s.id = $2
      when 'organization' then s.organization_id = $2
      when 'group' then exists (
        select
        from projection.phone_system_group_member m
        where m.system_id = s.id
          and m.group_id = $2
      )
    end
    and n.at >= $3
    and n.at < $4
    and n.recorded_at >= $3::timestamptz - interval '1 hour' -- leaves out older days; the clocks of stream and database can differ
    and n.kind = any($5)
