package schematest

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// CommitLevels makes synchronous_commit off the default of new sessions, and returns a function that returns the levels
// with which rows of a table have been inserted or updated since.
func (d *Database) CommitLevels(tb testing.TB, table string) func() []string {
	tb.Helper()
	pool := d.Pool(tb)

	// A trigger notes the level of each insert and update.
	Exec(tb, pool, fmt.Sprintf(`
		alter database %s set synchronous_commit = off;
		create table public.commit_level (level text);
		create function public.note_level() returns trigger language plpgsql security definer as $$
		begin
		  insert into public.commit_level values (current_setting('synchronous_commit'));
		  return null;
		end $$;
		create trigger note_level after insert or update on %s for each row execute function public.note_level()`, d.name, table))

	return func() []string {
		tb.Helper()
		rows, _ := pool.Query(tb.Context(), "select distinct level from public.commit_level order by 1")
		levels, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			tb.Fatal(err)
		}
		return levels
	}
}
