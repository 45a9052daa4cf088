insert into control.generation_part (generation, partition, part, systems, sequence, retry_seq)
values ($1, $2, $3, $4, $5, $6)
