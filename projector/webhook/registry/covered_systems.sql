-- The phone systems that a target ($1, $2) covers now.
select s.id
from projection.phone_system s
where case $1
    when 'system' then s.id = $2
    when 'organization' then s.organization_id = $2
    when 'group' then exists (
      select
      from projection.phone_system_group_member m
      where m.system_id = s.id
        and m.group_id = $2
    )
  end
