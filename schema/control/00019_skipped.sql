-- +goose Up
-- Makes a message of the live projection a dead letter before it was applied, and returns the dead letter's ID. Every application of the
-- message repeats that. at is the position that the message follows: if it moved, nothing is done, and the result is null. The epoch rises, so
-- that a projector which has not read the dead letter can't commit the message.
-- +goose StatementBegin
create function control.skip(
  stream text, stream_created timestamptz, partition smallint, at bigint,
  sequence bigint, subject text, header bytea, data bytea, stored_at timestamptz
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  dead_letter bigint;
begin
  update projection.position p
  set epoch = p.epoch + 1
  where p.partition = skip.partition
    and p.stream = skip.stream
    and p.stream_created = skip.stream_created
    and p.sequence = skip.at;
  if not found then
    return null;
  end if;

  -- A row of the sequence is of a message that the stream has lost, or of a generation that is not live.
  delete from control.dead_letter d
  where d.stream = skip.stream
    and d.stream_created = skip.stream_created
    and d.sequence = skip.sequence;
  insert into control.dead_letter as d
    (stream, stream_created, sequence, partition, subject, header, data, reason, stored_at, generation)
  select
    skip.stream, skip.stream_created, skip.sequence, skip.partition, skip.subject, skip.header, skip.data, 'skipped by an operator',
    skip.stored_at, g.id
  from control.generation g
  where g.state = 'live'
  returning d.id into dead_letter;
  return dead_letter;
end
$$;
-- +goose StatementEnd

revoke execute on function control.skip(text, timestamptz, smallint, bigint, bigint, text, bytea, bytea, timestamptz) from public;
grant execute on function control.skip(text, timestamptz, smallint, bigint, bigint, text, bytea, bytea, timestamptz) to callboard_operator;

-- +goose Down
drop function control.skip(text, timestamptz, smallint, bigint, bigint, text, bytea, bytea, timestamptz);
