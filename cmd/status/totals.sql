select
  (select count(*) from control.dead_letter),
  (select max(id) from control.generation)
