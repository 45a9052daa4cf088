-- The server that has the rows of each of $1 partitions, where the projection is distributed over the nodes of a Citus cluster.
select
  p::integer,
  n.nodename || ':' || n.nodeport
from generate_series(0, $1::integer - 1) p
join pg_dist_placement s on s.shardid = get_shard_id_for_distribution_column('projection.position', p::smallint)
join pg_dist_node n using (groupid)
where n.noderole = 'primary'
