-- A retry that failed is on record even if the dead letter was resolved before it.
update control.dead_letter
set failures = failures || jsonb_build_object('sequence', $4::bigint, 'stored_at', $5::timestamptz, 'reason', $6::text)
where stream = $1
  and sequence = $2
  and stored_at >= $3
  and stored_at < $3 + interval '1 millisecond'
