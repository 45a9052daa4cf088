-- What is known of the messages above a position, and of the retries behind a turn. Which generation asks is said by its schema: an
-- early release's says nothing of itself.
select sequence, reason, turn, position, clock, subject, header, data, stored_at
from control.dead_letter
where stream = $1
  and stream_created = $2
  and partition = $3
  and generation <= case current_schema()
    when 'projection' then (select id from control.generation where state = 'live')
    else substring(current_schema() from '[0-9]+$')::bigint
  end
  and (sequence > $4 or turn > $5)
order by turn
