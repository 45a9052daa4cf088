-- Text is served exactly where the status is completed, which means that text can be read now.
select
  coalesce(w.watermark, 'epoch') as watermark,
  c.id,
  c.call_sid,
  c.parent_call_sid,
  c.direction,
  c.status,
  c.outcome,
  c.from_party,
  c.from_name,
  c.to_party,
  c.created_at,
  c.start_time,
  c.end_time,
  c.duration,
  c.recording_sid,
  c.recording_duration,
  case when c.transcription_status = 'completed' then t.text end as transcribed_text,
  case
    when c.transcription_status = 'completed' and t.text is null then 'unavailable'
    else c.transcription_status
  end as transcription_status
from projection.phone_system s
left join projection.position w on w.partition = s.partition
join projection.call_log c on c.system_id = s.id
left join projection.transcript_text t on t.system_id = c.system_id and t.owner_id = c.id and t.owner = 'call'
where s.id = $1
  and c.id = $2
