-- Text is served exactly where the status is completed, which means that text can be read now.
select
  r.id,
  r.system_id,
  r.call_sid,
  r.parent_call_sid,
  r.direction,
  r.status,
  r.outcome,
  r.from_party,
  r.from_name,
  r.to_party,
  r.created_at,
  r.start_time,
  r.end_time,
  r.duration,
  r.recording_sid,
  r.recording_duration,
  case when r.transcription_status = 'completed' then t.text end as transcribed_text,
  case
    when r.transcription_status = 'completed' and t.text is null then 'unavailable'
    else r.transcription_status
  end as transcription_status
from projection.call_log r
left join projection.transcript_text t on t.system_id = r.system_id and t.owner_id = r.id and t.owner = 'call'
where r.system_id = $1
