select
  (select count(*) from control.dead_letter),
  (select id from control.generation where state = 'live')
