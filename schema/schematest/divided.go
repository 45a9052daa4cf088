package schematest

import (
	"regexp"
	"testing"
)

const divideSQL = `
	do $$ declare t name; begin
	  for t in
	    select relname from pg_class join pg_attribute on attrelid = pg_class.oid
	    where relnamespace = 'projection'::regnamespace and relkind = 'r' and attname = 'partition'
	  loop
	    execute format('alter table projection.%I rename to whole', t);
	    execute format('create table projection.%I (like projection.whole including all) partition by list (partition)', t);
	    for n in 0..15 loop
	      execute format('create table projection.%I partition of projection.%I for values in (%s)', t || '_of_' || n, t, n);
	    end loop;
	    drop table projection.whole;
	  end loop;
	end $$;
	grant select on all tables in schema projection to callboard_reader;
	grant select, insert, update, delete on all tables in schema projection to callboard_projector`

// DivideByPartition divides the tables of the live projection, which are empty, into parts that have the rows of
// one of sixteen partitions each. Such a table, with the same columns, keys and indexes, stands for one whose rows
// are on several servers. Tables without the column stay as they are.
func (d *Database) DivideByPartition(tb testing.TB) {
	tb.Helper()
	Exec(tb, d.Pool(tb), divideSQL)
}

// scanOfPart matches the scan of a part in a plan. Scans of indexes have the table's name after that of the index.
var scanOfPart = regexp.MustCompile(`Scan[^\n]* on \w+_of_(\d+)\b`)

// ScannedPartitions returns the partition of each scan in a plan of divided tables.
func ScannedPartitions(plan string) (partitions []string) {
	for _, match := range scanOfPart.FindAllStringSubmatch(plan, -1) {
		partitions = append(partitions, match[1])
	}
	return partitions
}
