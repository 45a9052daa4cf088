create table recording (
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
  call_sid           text, -- of the call it hangs on, once that has arrived
  primary key (system_id, recording_sid)
);

create index recording_owner on recording (system_id, owner_id);
-- The lists hold what a call's recordings are: those of voicemails, and those that can no longer be had, are in none.
create index recording_created on recording (system_id, created_at, recording_sid)
  where call_sid is not null and status <> 'unavailable';
create index recording_status on recording (system_id, status, created_at, recording_sid)
  where call_sid is not null and status <> 'unavailable';
create index recording_call_sid on recording (system_id, call_sid, created_at, recording_sid)
  where call_sid is not null and status <> 'unavailable';
