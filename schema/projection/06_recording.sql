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
-- Lists show the recordings of calls only, and only those that are available.
create index recording_created on recording (system_id, created_at, recording_sid) include (partition)
  where call_sid is not null and status <> 'unavailable';
create index recording_status on recording (system_id, status, created_at, recording_sid) include (partition)
  where call_sid is not null and status <> 'unavailable';
create index recording_call_sid on recording (system_id, call_sid)
  where call_sid is not null and status <> 'unavailable';
