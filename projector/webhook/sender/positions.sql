-- Up to which sequence each partition's rows are in a database that readers use.
select stream, partition, sequence
from projection.position
