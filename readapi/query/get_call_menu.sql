select
  {{columns}},
  r.prompt,
  r.choices,
  r.direct_extension_dialing,
  r.no_input_action
from projection.call_menu r
where r.partition = $1
  and r.system_id = $2
