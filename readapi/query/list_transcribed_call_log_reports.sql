-- A page of report rows with their transcripts; without them, it is list_call_log_reports.sql.
-- $1 partition, $2 system, $3 and $4 the time and id of the last row before the page, $5 until, $6 rows to return, $7 the limit of a
-- page's stored transcripts in bytes.
with
  snapshot as materialized ({{snapshot}}),
  page as (
    select m.*, row_number() over (order by m.{{time}}, m.id) as place
    from (
      select
        c.id, c.call_sid, c.parent_call_sid, c.direction, c.start_time, c.end_time, c.duration, c.created_at, c.updated_at,
        c.from_party, c.from_display, c.from_number, c.from_name, c.to_party, c.to_display, c.to_number, c.forwarded_from,
        c.status, c.outcome, c.call_outcome_code, c.is_converted, c.conversion_value, c.outcome_source,
        c.category, c.overall_sentiment, c.overall_sentiment_score, c.employee_sentiment, c.employee_sentiment_score,
        c.customer_sentiment, c.customer_sentiment_score, c.sentiment_source, c.scorecard_score,
        c.representative_state, c.representative_id, c.representative_confidence, c.representative_source,
        c.recording_sid, c.recording_duration,
        c.transcription_status, c.transcript_text_bytes, c.transcript_turns_bytes,
        c.call_group_id, c.answered_by_extension_id, c.from_extension_id, c.is_emergency, c.is_edited, c.tags, c.route_summary
      from projection.call_log c
      where c.partition = $1
        and c.system_id = $2
        and (c.{{time}}, c.id) > ($3, $4)
        and c.{{time}} < $5
      order by c.{{time}}, c.id
      limit 26
    ) m
    order by m.{{time}}, m.id
    limit $6::bigint + 1
  ),
  stored as (
    select coalesce(sum(coalesce(transcript_text_bytes, 0)::bigint + coalesce(transcript_turns_bytes, 0)), 0)::bigint as bytes
    from page
    where place <= $6
  )
select
  w.*,
  (select bytes from stored) as stored_bytes,
  p.id, p.call_sid, p.parent_call_sid, p.direction, p.start_time, p.end_time, p.duration, p.created_at, p.updated_at,
  p.from_party, p.from_display, p.from_number, p.from_name, p.to_party, p.to_display, p.to_number, p.forwarded_from,
  p.status, p.outcome, p.call_outcome_code, p.is_converted, p.conversion_value, p.outcome_source,
  p.category, p.overall_sentiment, p.overall_sentiment_score, p.employee_sentiment, p.employee_sentiment_score,
  p.customer_sentiment, p.customer_sentiment_score, p.sentiment_source, p.scorecard_score,
  p.representative_state, p.representative_id, p.representative_confidence, p.representative_source,
  p.recording_sid, p.recording_duration,
  case
    when p.transcription_status = 'completed' and (p.transcript_text_bytes is null or t.text is null and (select bytes from stored) <= $7)
    then 'unavailable'
    else p.transcription_status
  end as transcription_status,
  p.call_group_id, p.answered_by_extension_id, p.from_extension_id, p.is_emergency, p.is_edited, p.tags, p.route_summary,
  t.text,
  t.turns
from snapshot w
left join page p on true
-- PostgreSQL checks the condition that doesn't depend on the row first, and reads no text if it is false.
left join lateral (
  select x.text, x.turns
  from projection.transcript_text x
  where (select bytes from stored) <= $7
    and x.partition = $1
    and x.system_id = $2
    and x.owner_id = p.id
    and x.owner = 'call'
  limit 1
) t on p.transcription_status = 'completed' and p.transcript_text_bytes is not null and p.place <= $6
order by p.place
