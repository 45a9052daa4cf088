-- Analyses refer to these rows: the representative of a call, and the labels of its codes.
create table representative (
  partition  smallint    not null,
  system_id  uuid        not null,
  id         uuid        not null,
  version    bigint      not null,
  name       text        not null,
  status     text        not null,
  updated_at timestamptz not null,
  primary key (system_id, id, partition)
);

-- One table for the global ones and those of phone systems, which override them: a page looks up both.
create table classification (
  system_id  uuid             not null, -- all zeros: the global default
  kind       text collate "C" not null, -- category, overall_sentiment, employee_sentiment, customer_sentiment
  code       text collate "C" not null,
  version    bigint           not null,
  label      text             not null,
  status     text             not null,
  score      double precision,
  updated_at timestamptz      not null,
  primary key (system_id, kind, code)
);
