-- A call; a row of nulls if only the phone system exists, or if the call is not of the extension that the API key is narrowed to.
-- The text is null unless the status is completed. A completed transcript without text is unavailable.
-- $1 partition, $2 system, $3 the call's id, $4 whether the key is narrowed, $5 its extension: null if that was deleted.
select
  coalesce(w.watermark, 'epoch') as watermark,
  r.id,
  r.system_id,
  r.call_sid,
  r.parent_call_sid,
  r.direction,
  r.status,
  r.outcome,
  coalesce(r.from_party, '') as from_party,
  r.from_name,
  coalesce(r.to_party, '') as to_party,
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
from projection.phone_system s
left join projection.position w on w.partition = $1
left join projection.call_log r on r.partition = $1
  and r.system_id = $2
  and r.id = $3
  and (not $4::boolean or r.answered_by_extension_id = $5::uuid or r.from_extension_id = $5::uuid)
left join projection.transcript_text t on t.partition = $1 and t.system_id = r.system_id and t.owner_id = r.id and t.owner = 'call'
where s.partition = $1
  and s.id = $2
