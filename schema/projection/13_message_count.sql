-- What became of a partition's messages, by the entity that their subjects name. At every commit read is the sum of all that
-- follows it, and for a whole partition the number of messages that the stream holds up to the position.
create table message_count (
  partition smallint not null,
  entity    text     not null, -- "unknown" where the subject names none
  read      bigint   not null,
  applied   bigint   not null,
  stale     bigint   not null, -- the version was not above the one applied last
  ignored   bigint   not null, -- of a deleted call
  dead      bigint   not null, -- a dead letter, dropped ones included; one that a retry applied is counted as what it became
  primary key (partition, entity)
) with (fillfactor = 50);
