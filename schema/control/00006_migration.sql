-- +goose Up
-- A projector of a release whose migrations haven't run says so, and waits.
grant select on control.migration to callboard_projector, callboard_operator;

-- +goose Down
revoke select on control.migration from callboard_projector, callboard_operator;
