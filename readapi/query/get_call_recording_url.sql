-- The audio of a recording whose call or voicemail exists; a row of nulls if only the phone system exists. A recording has a call_sid once
-- its call exists. A voicemail's event can come before that of its recording. Until then the voicemail alone names the recording, which is
-- not ready. A tombstone says that the recording was deleted. $1 partition, $2 system, $3 the recording's sid.
select
  coalesce(w.watermark, 'epoch') as watermark,
  case
    when r.status = 'unavailable' then null
    when r.owner = 'call' then nullif(r.call_sid is null, true)
    when r.owner = 'voicemail' then
      nullif(exists (select from projection.voicemail v where v.partition = $1 and v.system_id = r.system_id and v.id = r.owner_id), false)
    else nullif(
      exists (select from projection.voicemail v where v.partition = $1 and v.system_id = s.id and v.recording_sid = $3)
      and not exists (
        select from projection.tombstone t where t.partition = $1 and t.system_id = s.id and t.entity = 'recording' and t.key = $3
      ), false)
  end as of_voicemail,
  coalesce(r.status = 'ready', false) as ready,
  coalesce(r.audio_key, '') as audio_key,
  coalesce(r.audio_content_type, '') as audio_content_type
from projection.phone_system s
left join projection.position w on w.partition = $1
left join projection.recording r on r.partition = $1
  and r.system_id = $2
  and r.recording_sid = $3
where s.partition = $1
  and s.id = $2
