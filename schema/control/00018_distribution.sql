-- +goose Up
-- One row where generations of the projection are distributed over the nodes of a Citus cluster.
create table control.distribution (
  one    boolean primary key default true check (one),
  shards integer not null check (shards > 0)
);

grant select on control.distribution to callboard_projector, callboard_operator;

-- +goose Down
drop table control.distribution;
