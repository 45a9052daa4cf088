update control.generation_part
set read = $4
where generation = $1
  and partition = $2
  and part = $3
  and read is null
