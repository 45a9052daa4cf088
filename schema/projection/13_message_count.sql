-- The messages of a partition by entity and outcome. At every commit, read is the sum of applied, stale, ignored and dead. Over a whole
-- partition it is the number of messages that the stream has up to the position.
create table message_count (
  partition   smallint not null,
  entity      text     not null, -- "unknown" where the subject names none
  read        bigint   not null,
  applied     bigint   not null,
  stale       bigint   not null, -- the version was not newer than the applied one
  ignored     bigint   not null, -- of a deleted call
  dead        bigint   not null, -- a dead letter, also a dropped one; its retry is another message
  conflicting bigint   not null default 0, -- of the stale ones: the version was the applied one, and the content another
  primary key (partition, entity)
) with (fillfactor = 50);
