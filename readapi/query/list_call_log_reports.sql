-- A page of report rows in ascending order of {{time}}, which is created_at or updated_at, without transcripts. names.sql reads the names
-- of their references.
-- $1 partition, $2 system, $3 and $4 the time and id of the last row before the page, $5 until, $6 rows to return.
-- The only possible join is a nested loop, which keeps the order of the page's rows. An order by would sort them again.
with snapshot as materialized ({{snapshot}})
select
  w.*,
  p.*
from snapshot w
left join (
  -- One row more than requested tells whether there are more. The inner limit is the largest that can be requested: from it the
  -- planner knows how few rows a generic plan reads.
  select m.*
  from (
    select
      c.id, c.call_sid, c.parent_call_sid, c.direction, c.start_time, c.end_time, c.duration, c.created_at, c.updated_at,
      c.from_party, c.from_display, c.from_number, c.from_name, c.to_party, c.to_display, c.to_number, c.forwarded_from,
      c.status, c.outcome, c.call_outcome_code, c.is_converted, c.conversion_value, c.outcome_source,
      c.category, c.overall_sentiment, c.overall_sentiment_score, c.employee_sentiment, c.employee_sentiment_score,
      c.customer_sentiment, c.customer_sentiment_score, c.sentiment_source, c.scorecard_score,
      c.representative_state, c.representative_id, c.representative_confidence, c.representative_source,
      c.recording_sid, c.recording_duration,
      case
        when c.transcription_status = 'completed' and c.transcript_text_bytes is null then 'unavailable'
        else c.transcription_status
      end as transcription_status,
      c.call_group_id, c.answered_by_extension_id, c.from_extension_id, c.is_emergency, c.is_edited, c.tags, c.route_summary
    from projection.call_log c
    where c.partition = $1
      and c.system_id = $2
      and (c.{{time}}, c.id) > ($3, $4)
      and c.{{time}} < $5
    order by c.{{time}}, c.id
    limit 101
  ) m
  order by m.{{time}}, m.id
  limit $6::bigint + 1
) p on true
