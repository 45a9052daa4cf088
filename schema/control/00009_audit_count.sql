-- +goose Up
-- A row is one request, or several of a key that were refused with the same status and code. The previous release writes rows of one.
alter table access.audit
  add column count bigint not null default 1,
  add column last_at timestamptz, -- of several: when the last one arrived; at is that of the first
  add column last_request_id text, -- of several: of the last one; request_id is that of the first
  add column addresses integer not null default 1; -- different ones; address is that of the last request

-- +goose Down
alter table access.audit
  drop column count,
  drop column last_at,
  drop column last_request_id,
  drop column addresses;
