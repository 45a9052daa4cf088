-- Text is served exactly where the status is completed, which means that text can be read now.
select
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
from projection.voicemail r
left join projection.transcript a on a.system_id = r.system_id and a.owner_id = r.id and a.owner = 'voicemail'
left join projection.transcript_text t on t.system_id = r.system_id and t.owner_id = r.id and t.owner = 'voicemail'
where r.system_id = $1
