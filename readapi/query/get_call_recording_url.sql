-- The audio of a recording whose call or voicemail exists; a row of nulls if only the phone system exists. A recording has a call_sid once
-- its call exists. $1 partition, $2 system, $3 the recording's sid.
select
  coalesce(w.watermark, 'epoch') as watermark,
  w.partition,
  w.sequence,
  r.owner = 'voicemail' as of_voicemail,
  r.status = 'ready' as ready,
  coalesce(r.audio_key, '') as audio_key,
  coalesce(r.audio_content_type, '') as audio_content_type
from projection.phone_system s
left join projection.position w on w.partition = $1
left join projection.recording r on r.partition = $1
  and r.system_id = $2
  and r.recording_sid = $3
  and r.status <> 'unavailable'
  and case r.owner
    when 'call' then r.call_sid is not null
    else exists (select from projection.voicemail v where v.partition = $1 and v.system_id = r.system_id and v.id = r.owner_id)
  end
where s.partition = $1
  and s.id = $2
