-- Dead letters that only generations between the replaced one ($1) and the new one ($2) know are not dead letters of the new one.
delete from control.dead_letter
where generation > $1
  and generation < $2
