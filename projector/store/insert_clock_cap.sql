-- A message is capped twice only where a projector's clock is behind that of an earlier application.
insert into control.clock_cap (stream, partition, first_sequence, last_sequence, last_stored_at, clock, messages)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (stream, partition, first_sequence) do update
set
  last_sequence = greatest(clock_cap.last_sequence, excluded.last_sequence),
  last_stored_at = case
    when excluded.last_sequence >= clock_cap.last_sequence then excluded.last_stored_at
    else clock_cap.last_stored_at
  end,
  clock = least(clock_cap.clock, excluded.clock),
  messages = greatest(clock_cap.messages, excluded.messages),
  recorded_at = now()
