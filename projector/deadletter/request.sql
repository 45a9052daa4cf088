update control.dead_letter
set retry_at = now()
where id = any ($1)
