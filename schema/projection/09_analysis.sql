-- One analysis of a call. The row can exist before its call does.
create table analysis (
  partition                 smallint    not null,
  system_id                 uuid        not null,
  id                        uuid        not null,
  version                   bigint      not null,
  call_id                   uuid        not null,
  call_sid                  text        not null,
  status                    text        not null, -- pending, processing, completed, failed
  overall_score             integer, -- 0 to 100; null, as analyzed_at, until completed
  analyzed_at               timestamptz,
  created_at                timestamptz not null,
  coaching_tips             json        not null,
  category                  text,
  overall_sentiment         text,
  overall_sentiment_score   double precision,
  employee_sentiment        text,
  employee_sentiment_score  double precision,
  customer_sentiment        text,
  customer_sentiment_score  double precision,
  sentiment_source          text,
  scorecard_score           double precision,
  representative_state      text        not null, -- identified, unknown, not_analyzed
  representative_id         uuid,
  representative_confidence double precision,
  representative_source     text,
  listed                    boolean     not null, -- its call has a row
  primary key (system_id, id, partition)
);

create index analysis_call on analysis (system_id, call_id);
