-- The text is null unless the status is completed. A completed transcript without text is unavailable.
select
  {{columns}},
  case when r.transcription_status = 'completed' then t.text end as transcribed_text,
  case
    when r.transcription_status = 'completed' and t.text is null then 'unavailable'
    else r.transcription_status
  end as transcription_status
from projection.call_log r
left join projection.transcript_text t on t.partition = $1 and t.system_id = r.system_id and t.owner_id = r.id and t.owner = 'call'
where r.partition = $1
  and r.system_id = $2
