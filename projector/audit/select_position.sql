select stream_created, sequence, stored_at
from control.audit_position
where stream = $1
