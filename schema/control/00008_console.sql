-- +goose Up
-- The projector's console shows how far a rebuild has come.
grant select on control.generation_part to callboard_projector;

-- The console reads the newest open dead letters, however many have been resolved.
create index dead_letter_open on control.dead_letter (id) where resolution is null;

-- +goose Down
drop index control.dead_letter_open;
revoke select on control.generation_part from callboard_projector;
