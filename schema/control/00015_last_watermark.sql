-- +goose Up
-- While a generation is built from another stream, the watermarks of the live one don't pass this time. Every row of the new generation is later,
-- so a client that walks by updatedAt reads it again.
alter table control.stream add column last_watermark timestamptz; -- null: they do


-- +goose Down
alter table control.stream drop column last_watermark;
