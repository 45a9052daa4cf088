-- +goose Up
-- A stream that lost its end gives its sequences to other messages, which can be dead letters, too. They replace the rows of the lost ones.
grant update (partition, subject, header, data, stored_at, recorded_at) on control.dead_letter to callboard_projector;

-- +goose Down
revoke update (partition, subject, header, data, stored_at, recorded_at) on control.dead_letter from callboard_projector;
