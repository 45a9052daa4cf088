-- Open dead letters, counted by the first two parts of their first problem, without array indexes and ids: reasons that
-- differ in details are one.
select
  regexp_replace(
    concat_ws(': ', split_part(first, ': ', 1), nullif(split_part(first, ': ', 2), '')),
    '(/)[0-9]+|[0-9a-f]{8}-[0-9a-f-]{27}', '\1*', 'g'
  ) collate "C" as reason,
  count(*)      as count,
  count(*) filter (where state = 'waiting') as waiting
from control.dead_letter
cross join lateral split_part(reason, '; ', 1) first
where resolution is null
group by 1
order by count desc, 1
