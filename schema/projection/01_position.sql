-- One row per partition: up to which message the stream is in the tables. It is written in the same transaction as the rows, and is the
-- only place to resume from.
create table position (
  partition       smallint    primary key,
  stream          uuid        not null,
  sequence        bigint      not null, -- the last message of the stream that is in the tables
  epoch           bigint      not null, -- rises with every change of owner; a write under an older one changes nothing
  clock           timestamptz not null, -- the running maximum of the stream's timestamps
  watermark       timestamptz not null, -- every event stored before this instant is in the tables
  last_message    bigint      not null default 0, -- the last message of the stream at or below sequence, of any partition; 0: none
  last_message_at timestamptz not null default to_timestamp(0) -- when the stream stored it: a stream that lost its end gives the sequence to another message
) with (fillfactor = 50);
