insert into control.generation_part (generation, partition, part, systems, sequence)
values ($1, $2, $3, $4, $5)
