-- Where each partition stands. Written in the same transaction as the rows it stands for, and the only place to resume from.
create table position (
  partition      smallint    primary key,
  stream         text        not null,
  stream_created timestamptz not null,
  sequence       bigint      not null, -- the last message of the stream that is in the tables
  epoch          bigint      not null, -- rises with every change of owner; a commit under an older one changes nothing
  clock          timestamptz not null, -- the running maximum of the stream's timestamps
  watermark      timestamptz not null, -- every event stored before this instant is in the tables
  turn           bigint      not null default 0, -- of control.dead_letter: the last retry that is in the tables
  message        bigint      not null default 0, -- the last one at or below sequence that is known, of whatever partition; 0: none
  stored         timestamptz not null default to_timestamp(0) -- when the stream stored it: a stream that lost its end may grow another
) with (fillfactor = 50);
