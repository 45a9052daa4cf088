create table voicemail (
  partition            smallint    not null,
  system_id            uuid        not null,
  id                   uuid        not null,
  version              bigint      not null,
  call_sid             text        not null,
  from_party           text        not null,
  from_name            text,
  duration             integer     not null, -- seconds
  extension_id         uuid,
  call_group_id        uuid,
  listened             boolean     not null,
  archived             boolean     not null,
  recording_sid        text        not null,
  created_at           timestamptz not null,
  primary key (system_id, id, partition)
);
