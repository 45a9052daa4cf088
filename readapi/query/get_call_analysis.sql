-- An analysis; its id is null if only the phone system exists, or if its call is not of the extension that the API key is
-- narrowed to.
-- $1 partition, $2 system, $3 the analysis' id, $4 whether the key is narrowed, $5 its extension: null if that was deleted.
select
  coalesce(w.watermark, 'epoch') as watermark,
  case when not $4::boolean or c.answered_by_extension_id = $5::uuid or c.from_extension_id = $5::uuid then r.id end as id,
  r.system_id,
  r.call_sid,
  r.call_id,
  r.status,
  r.overall_score,
  r.analyzed_at,
  r.coaching_tips,
  r.created_at
from projection.phone_system s
left join projection.position w on w.partition = $1
left join projection.analysis r on r.partition = $1 and r.system_id = $2 and r.id = $3 and r.listed
left join projection.call_log c on c.partition = $1 and c.system_id = r.system_id and c.id = r.call_id
where s.partition = $1
  and s.id = $2
