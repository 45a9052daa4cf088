-- One row per call, with everything that a list, a detail or a report shows, except display names and transcript texts.
create table call_log (
  partition                smallint    not null,
  system_id                uuid        not null,
  id                       uuid        not null,
  version                  bigint      not null,
  updated_at               timestamptz not null, -- the partition clock when a reported value last changed
  call_sid                 text        not null,
  parent_call_sid          text,
  direction                text        not null,
  status                   text        not null,
  outcome                  text,
  from_party               text, -- null: withheld; lists show an empty text
  from_display             text,
  from_number              text,
  from_name                text,
  to_party                 text,
  to_display               text,
  to_number                text,
  forwarded_from           text,
  created_at               timestamptz not null,
  start_time               timestamptz,
  end_time                 timestamptz,
  duration                 integer, -- seconds
  call_group_id            uuid,
  answered_by_extension_id uuid,
  from_extension_id        uuid,
  is_emergency             boolean     not null,
  route_summary            text,
  call_outcome_code        text,
  is_converted             boolean     not null,
  conversion_value         text, -- a decimal, as written by the publisher
  outcome_source           text,
  is_edited                boolean     not null,
  tags                     json        not null,
  transcription_status     text        not null, -- completed, processing, failed, unavailable
  transcript_digest        bytea, -- SHA-256 of the stored text and turns
  transcript_text_bytes    integer,
  transcript_turns_bytes   integer,
  recording_sid            text,
  recording_duration       integer, -- seconds
  category                 text, -- a code, and so are the sentiments: of the newest completed analysis
  overall_sentiment        text,
  overall_sentiment_score  double precision,
  employee_sentiment       text,
  employee_sentiment_score double precision,
  customer_sentiment       text,
  customer_sentiment_score double precision,
  sentiment_source         text,
  scorecard_score          double precision,
  representative_state     text        not null, -- identified, unknown, not_analyzed
  representative_id        uuid,
  representative_confidence double precision,
  representative_source    text,
  primary key (system_id, id, partition)
);

-- The calls, and the analyses of calls, that a key narrowed to one extension can read, each in list order.
create table extension_entry (
  partition    smallint    not null,
  system_id    uuid        not null,
  extension_id uuid        not null,
  analysis     boolean     not null, -- false: a call
  created_at   timestamptz not null,
  id           uuid        not null, -- of the call or the analysis
  primary key (system_id, extension_id, analysis, created_at, id, partition)
);
