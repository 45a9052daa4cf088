-- A page of report rows by created_at, with transcripts if $6, with the names of its references: all in one statement, hence one snapshot.
-- Tests compare the reader's pages with it. The arguments are $1 system, $2 and $3 the time and id of the last row before the page, $4 until,
-- $5 rows to return, $6 whether to return transcripts, $7 the limit of a page's stored transcripts in bytes.
with
  -- One row more than requested tells whether there are more. The inner limit is the largest that can be requested: from it the
  -- planner knows how few rows a generic plan reads.
  page as (
    select
      m.id, m.call_sid, m.parent_call_sid, m.direction, m.start_time, m.end_time, m.duration, m.created_at, m.updated_at,
      m.from_party, m.from_display, m.from_number, m.from_name, m.to_party, m.to_display, m.to_number, m.forwarded_from,
      m.status, m.outcome, m.call_outcome_code, m.is_converted, m.conversion_value, m.outcome_source,
      m.category, m.overall_sentiment, m.overall_sentiment_score, m.employee_sentiment, m.employee_sentiment_score,
      m.customer_sentiment, m.customer_sentiment_score, m.sentiment_source, m.scorecard_score,
      m.representative_state, m.representative_id, m.representative_confidence, m.representative_source,
      m.recording_sid, m.recording_duration, m.transcription_status, m.transcript_text_bytes, m.transcript_turns_bytes,
      m.call_group_id, m.answered_by_extension_id, m.from_extension_id, m.is_emergency, m.is_edited, m.tags, m.route_summary,
      row_number() over (order by m.created_at, m.id) as place
    from (
      select
        c.id, c.call_sid, c.parent_call_sid, c.direction, c.start_time, c.end_time, c.duration, c.created_at, c.updated_at,
        c.from_party, c.from_display, c.from_number, c.from_name, c.to_party, c.to_display, c.to_number, c.forwarded_from,
        c.status, c.outcome, c.call_outcome_code, c.is_converted, c.conversion_value, c.outcome_source,
        c.category, c.overall_sentiment, c.overall_sentiment_score, c.employee_sentiment, c.employee_sentiment_score,
        c.customer_sentiment, c.customer_sentiment_score, c.sentiment_source, c.scorecard_score,
        c.representative_state, c.representative_id, c.representative_confidence, c.representative_source,
        c.recording_sid, c.recording_duration, c.transcription_status, c.transcript_text_bytes, c.transcript_turns_bytes,
        c.call_group_id, c.answered_by_extension_id, c.from_extension_id, c.is_emergency, c.is_edited, c.tags, c.route_summary
      from projection.call_log c
      where c.system_id = $1
        and (c.created_at, c.id) > ($2, $3)
        and c.created_at < $4
      order by c.created_at, c.id
      limit 101
    ) m
    order by m.created_at, m.id
    limit $5::bigint + 1
  ),
  stored as (
    select coalesce(sum(coalesce(transcript_text_bytes, 0)::bigint + coalesce(transcript_turns_bytes, 0)), 0)::bigint as bytes
    from page
    where place <= $5
  ),
  -- Names and labels, each looked up once per page. The keys are an array, so that the plan probes an index a few times. A join
  -- could be planned to read all of the system's rows.
  names as (
    select
      array_agg(n.family) as families, array_agg(n.id) as ids, array_agg(n.name) as names, array_agg(n.number) as numbers
    from (
      select 'call_group' as family, e.id, e.name, e.number
      from projection.call_group e
      where e.system_id = $1 and e.id = any (array(select distinct call_group_id from page))
      union all
      select 'extension', e.id, e.name, e.number
      from projection.extension e
      where e.system_id = $1 and e.id = any (array(select answered_by_extension_id from page union select from_extension_id from page))
      union all
      select 'representative', e.id, e.name, null
      from projection.representative e
      where e.system_id = $1 and e.id = any (array(select distinct representative_id from page))
      union all
      select replace(t.entity, '-', '_'), t.key::uuid, null, null
      from projection.tombstone t
      where t.system_id = $1 and t.entity in ('call-group', 'extension', 'representative')
    ) n
  ),
  -- The global classifications first: those of the system come after them and override them.
  labels as (
    select
      array_agg(n.kind) as kinds, array_agg(n.code) as codes, array_agg(n.label) as labels, array_agg(n.score) as scores
    from (
      select c.system_id, c.kind, c.code, c.label, c.score
      from projection.classification c
      where c.system_id in ($1, '00000000-0000-0000-0000-000000000000')
        and c.kind = 'category' and c.code = any (array(select distinct category from page))
      union all
      select c.system_id, c.kind, c.code, c.label, c.score
      from projection.classification c
      where c.system_id in ($1, '00000000-0000-0000-0000-000000000000')
        and c.kind = 'overall_sentiment' and c.code = any (array(select distinct overall_sentiment from page))
      union all
      select c.system_id, c.kind, c.code, c.label, c.score
      from projection.classification c
      where c.system_id in ($1, '00000000-0000-0000-0000-000000000000')
        and c.kind = 'employee_sentiment' and c.code = any (array(select distinct employee_sentiment from page))
      union all
      select c.system_id, c.kind, c.code, c.label, c.score
      from projection.classification c
      where c.system_id in ($1, '00000000-0000-0000-0000-000000000000')
        and c.kind = 'customer_sentiment' and c.code = any (array(select distinct customer_sentiment from page))
      order by system_id
    ) n
  )
select
  coalesce(w.watermark, 'epoch') as watermark,
  w.partition,
  w.sequence,
  now() as now,
  (select bytes from stored) as stored_bytes,
  -- Only in the first row.
  case when p.place = 1 then (select families from names) end as families,
  case when p.place = 1 then (select ids from names) end as ids,
  case when p.place = 1 then (select names from names) end as names,
  case when p.place = 1 then (select numbers from names) end as numbers,
  case when p.place = 1 then (select kinds from labels) end as kinds,
  case when p.place = 1 then (select codes from labels) end as codes,
  case when p.place = 1 then (select labels from labels) end as labels,
  case when p.place = 1 then (select scores from labels) end as scores,
  p.id, p.call_sid, p.parent_call_sid, p.direction, p.start_time, p.end_time, p.duration, p.created_at, p.updated_at,
  p.from_party, p.from_display, p.from_number, p.from_name, p.to_party, p.to_display, p.to_number, p.forwarded_from,
  p.status, p.outcome, p.call_outcome_code, p.is_converted, p.conversion_value, p.outcome_source,
  p.category, p.overall_sentiment, p.overall_sentiment_score, p.employee_sentiment, p.employee_sentiment_score,
  p.customer_sentiment, p.customer_sentiment_score, p.sentiment_source, p.scorecard_score,
  p.representative_state, p.representative_id, p.representative_confidence, p.representative_source,
  p.recording_sid, p.recording_duration,
  case
    when p.transcription_status = 'completed' and (p.transcript_text_bytes is null or $6 and t.text is null and (select bytes from stored) <= $7)
    then 'unavailable'
    else p.transcription_status
  end as transcription_status,
  p.call_group_id, p.answered_by_extension_id, p.from_extension_id, p.is_emergency, p.is_edited, p.tags, p.route_summary,
  t.text,
  t.turns
from projection.phone_system s
left join projection.position w on w.partition = s.partition
left join page p on true
-- PostgreSQL checks the conditions that don't depend on the row first, and reads no text if they are false.
left join lateral (
  select x.text, x.turns
  from projection.transcript_text x
  where $6
    and (select bytes from stored) <= $7
    and x.system_id = $1
    and x.owner_id = p.id
    and x.owner = 'call'
  limit 1
) t on p.transcription_status = 'completed' and p.transcript_text_bytes is not null and p.place <= $5
where s.id = $1
order by p.place
