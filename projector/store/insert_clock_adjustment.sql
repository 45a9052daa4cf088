-- A message is adjusted twice only where a projector's clock is behind that of an earlier application, or where the stream lost the message.
insert into control.clock_adjustment as a (stream, partition, capped, first_sequence, last_sequence, last_stored_at, clock, messages)
values ($1, $2, $3, $4, $5, $6, $7, $8)
on conflict (stream, partition, capped, first_sequence) do update
set
  last_sequence = greatest(a.last_sequence, excluded.last_sequence),
  last_stored_at = case
    when excluded.last_sequence >= a.last_sequence then excluded.last_stored_at
    else a.last_stored_at
  end,
  clock = case
    when a.capped then least(a.clock, excluded.clock)
    else greatest(a.clock, excluded.clock)
  end,
  messages = greatest(a.messages, excluded.messages),
  recorded_at = now()
