-- The state of the transcription of a call or voicemail. The row can exist before its owner row does.
create table transcript (
  partition   smallint not null,
  system_id   uuid     not null,
  owner       text     collate "C" not null, -- call, voicemail
  owner_id    uuid     not null,
  version     bigint   not null,
  status      text     not null, -- completed, processing, failed, unavailable
  digest      bytea, -- SHA-256 of text and turns; null where no text is stored
  text_bytes  integer,
  turns_bytes integer,
  primary key (system_id, owner_id, owner, partition)
);

-- The stored text, separate from the rows that lists scan.
create table transcript_text (
  partition smallint not null,
  system_id uuid     not null,
  owner     text     collate "C" not null,
  owner_id  uuid     not null,
  text      text     not null,
  turns     json     not null,
  primary key (system_id, owner_id, owner, partition)
);

-- pglz, the default, makes writes several times as expensive. A server that was built without lz4 keeps the default.
do $$
begin
  alter table transcript_text alter column text set compression lz4;
  alter table transcript_text alter column turns set compression lz4;
exception when feature_not_supported then
  null;
end
$$;
