-- Up to which sequence the rows of a partition ($1) are on its node.
select stream, partition, sequence
from projection.position
where partition = $1
