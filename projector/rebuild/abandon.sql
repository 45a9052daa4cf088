-- What generations in between alone took for dead letters is none for the one that goes live.
delete from control.dead_letter
where generation > $1
  and generation < $2
