-- The phone systems of a partition ($1) among $2, each with its organization.
select id, organization_id
from projection.phone_system
where partition = $1
  and id = any ($2)
