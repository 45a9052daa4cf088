-- The audio of a recording whose call or voicemail exists. A recording has a call_sid once its call exists.
select
  coalesce(w.watermark, 'epoch') as watermark,
  w.partition,
  w.sequence,
  r.owner = 'voicemail' as of_voicemail,
  r.status = 'ready' as ready,
  coalesce(r.audio_key, '') as audio_key,
  coalesce(r.audio_content_type, '') as audio_content_type
from projection.phone_system s
left join projection.position w on w.partition = s.partition
join projection.recording r on r.system_id = s.id
where s.id = $1
  and r.recording_sid = $2
  and r.status <> 'unavailable'
  and case r.owner
    when 'call' then r.call_sid is not null
    else exists (select from projection.voicemail v where v.system_id = r.system_id and v.id = r.owner_id)
  end
