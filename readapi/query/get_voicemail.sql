-- A voicemail; a row of nulls if only the phone system exists. The text is null unless the status is completed. A completed
-- transcript without text is unavailable.
-- $1 partition, $2 system, $3 the voicemail's id.
select
  coalesce(w.watermark, 'epoch') as watermark,
  r.id,
  r.system_id,
  r.call_sid,
  r.from_party,
  r.from_name,
  r.duration,
  r.extension_id,
  r.call_group_id,
  r.listened,
  r.archived,
  r.recording_sid,
  r.created_at,
  case when a.status = 'completed' then t.text end as transcribed_text,
  case
    when a.status = 'completed' and t.text is null then 'unavailable'
    else coalesce(a.status, 'unavailable')
  end as transcription_status
from projection.phone_system s
left join projection.position w on w.partition = $1
left join projection.voicemail r on r.partition = $1 and r.system_id = $2 and r.id = $3
left join projection.transcript a on a.partition = $1 and a.system_id = r.system_id and a.owner_id = r.id and a.owner = 'voicemail'
left join projection.transcript_text t on t.partition = $1 and t.system_id = r.system_id and t.owner_id = r.id and t.owner = 'voicemail'
where s.partition = $1
  and s.id = $2
