-- +goose Up
-- The last message of the stream of audit entries whose entries are stored. It is committed with them: a failover that loses entries sets it
-- back, and the entries are read again.
create table control.audit_position (
  stream         text        primary key,
  stream_created timestamptz not null,
  sequence       bigint      not null check (sequence >= 0), -- of the message; below the first one: none is stored
  stored_at      timestamptz -- when the stream stored the message; null: none is stored
);

grant select, insert, update on control.audit_position to callboard_projector;
grant select on control.audit_position to callboard_operator;

-- +goose Down
drop table control.audit_position;
