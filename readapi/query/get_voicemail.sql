-- The text is null unless the status is completed. A completed transcript without text is unavailable.
select
  {{columns}},
  case when a.status = 'completed' then t.text end as transcribed_text,
  case
    when a.status = 'completed' and t.text is null then 'unavailable'
    else coalesce(a.status, 'unavailable')
  end as transcription_status
from projection.voicemail r
left join projection.transcript a on a.partition = $1 and a.system_id = r.system_id and a.owner_id = r.id and a.owner = 'voicemail'
left join projection.transcript_text t on t.partition = $1 and t.system_id = r.system_id and t.owner_id = r.id and t.owner = 'voicemail'
where r.partition = $1
  and r.system_id = $2
