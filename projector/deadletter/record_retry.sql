update control.dead_letter
set retry_requested_at = now()
where id = any ($1)
