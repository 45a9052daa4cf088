select
  r.id,
  r.system_id,
  r.call_sid,
  r.call_id,
  r.status,
  r.overall_score,
  r.analyzed_at,
  r.coaching_tips,
  r.created_at
from projection.analysis r
where r.partition = $1
  and r.system_id = $2
  and r.listed
