-- The indexes that only readers need, one statement each. A generation is built without them: they are created once it has caught up.
-- An organization's phone systems are in any partition.
create index if not exists phone_system_organization on phone_system (organization_id);
create index if not exists call_log_created on call_log (system_id, created_at, id) include (partition);
create index if not exists call_log_updated on call_log (system_id, updated_at, id);
create index if not exists call_log_sid on call_log (system_id, call_sid);
-- Lists show the recordings of calls only, and only those that are available.
create index if not exists recording_created on recording (system_id, created_at, recording_sid) include (partition)
  where call_sid is not null and status <> 'unavailable';
create index if not exists recording_status on recording (system_id, status, created_at, recording_sid) include (partition)
  where call_sid is not null and status <> 'unavailable';
create index if not exists recording_call_sid on recording (system_id, call_sid)
  where call_sid is not null and status <> 'unavailable';
-- One index begins with the kind. The planner would take another one that does for as good, and sort the rows.
create index if not exists topology_created on topology (system_id, kind, created_at, id) include (partition);
create index if not exists topology_status on topology (system_id, status, kind, created_at, id) include (partition);
create index if not exists topology_number on topology (system_id, number);
create index if not exists topology_extension on topology (system_id, extension_id);
create index if not exists analysis_created on analysis (system_id, created_at, id) include (partition) where listed;
create index if not exists analysis_call_sid on analysis (system_id, call_sid) where listed;
create index if not exists voicemail_created on voicemail (system_id, created_at, id) include (partition);
-- A request for the audio of a recording that has not arrived asks whether a voicemail names it.
create index if not exists voicemail_recording on voicemail (system_id, recording_sid);
