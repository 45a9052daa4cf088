create table recording (
  partition          smallint    not null,
  system_id          uuid        not null,
  recording_sid      text        collate "C" not null,
  version            bigint      not null,
  owner              text        not null, -- call, voicemail
  owner_id           uuid        not null,
  status             text        not null, -- processing, ready, unavailable
  duration           integer, -- seconds
  created_at         timestamptz not null,
  audio_key          text,
  audio_content_type text,
  audio_bytes        bigint,
  call_sid           text, -- of its call, once that has arrived
  primary key (system_id, recording_sid, partition)
);

create index recording_owner on recording (system_id, owner_id);
