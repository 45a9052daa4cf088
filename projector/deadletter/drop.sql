update control.dead_letter
set resolution = 'dropped', resolved_at = now(), retried_at = null, header = '', data = ''
where id = any ($1)
