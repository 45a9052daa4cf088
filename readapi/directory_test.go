package readapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"callboard/readapi/encode"
	"callboard/readapi/query"
	"callboard/schema/schematest"
)

// newReportQueries returns report pages with a directory of their own, and its metrics.
func newReportQueries(tb testing.TB, pool *pgxpool.Pool) (*query.Reports, *prometheus.Registry) {
	tb.Helper()
	registry := prometheus.NewRegistry()
	return query.New(pool).CallLogReports(query.NewNameCache(query.DefaultNameMemory, registry)), registry
}

// namesFixture is a phone system with two extensions and two calls. The first one refers to one extension, the
// second one to both.
type namesFixture struct {
	*fixture
	database *schematest.Database
	system   uuid.UUID
	first    uuid.UUID
	second   uuid.UUID
}

func newNamesFixture(tb testing.TB) *namesFixture {
	tb.Helper()
	database := schematest.New(tb)
	database.OnePartition(tb)
	o := &namesFixture{fixture: &fixture{TB: tb, pool: schematest.OpenPool(tb, database.URL())}, database: database}
	o.system = o.fixture.system("one")
	o.first, o.second = o.extension(o.system), o.extension(o.system)
	o.calls(o.system,
		call{id: nth(1), sid: "CA1", createdAt: at(windowFrom), answeredBy: &o.first},
		call{id: nth(2), sid: "CA2", createdAt: at(windowFrom), answeredBy: &o.first, from: &o.second},
	)
	o.rename("projection", 0)
	return o
}

// rename gives both extensions the same name, as one commit of the projector.
func (o *namesFixture) rename(schema string, name int) {
	o.Helper()
	o.exec(fmt.Sprintf(`begin;
		update %[1]s.topology set name = '%[2]d' where kind = 'extension';
		update %[1]s.phone_system set directory = directory + 1 where id = '%[3]s';
		commit`, schema, name, o.system))
}

// repair gives both extensions the same name, as a repair of the phone system.
func (o *namesFixture) repair(name int) {
	o.Helper()
	o.exec(fmt.Sprintf("begin; update projection.topology set name = '%d' where kind = 'extension'; update projection.position set epoch = epoch + 1; commit", name))
}

// addGeneration makes another generation of the same rows. switchGenerations makes it live.
func (o *namesFixture) addGeneration() {
	o.Helper()
	o.exec(`do $$
		declare
		  source record;
		begin
		  create schema other;
		  for source in select tablename from pg_tables where schemaname = 'projection' loop
		    execute format('create table other.%I (like projection.%I including all)', source.tablename, source.tablename);
		    execute format('insert into other.%I select * from projection.%I', source.tablename, source.tablename);
		  end loop;
		  grant usage on schema other to callboard_reader;
		  grant select on all tables in schema other to callboard_reader;
		  update other.generation set id = id + 1;
		end
		$$`)
}

// switchGenerations makes the other generation live, with its extensions' names.
func (o *namesFixture) switchGenerations(name int) {
	o.Helper()
	o.rename("other", name)
	o.exec(`begin;
		update other.position n set epoch = greatest(n.epoch, o.epoch) + 1 from projection.position o where o.partition = n.partition;
		alter schema projection rename to previous;
		alter schema other rename to projection;
		alter schema previous rename to other;
		commit`)
}

// shown is a row's names of the two extensions.
type shown struct {
	first, second string
}

// page reads a page of one or two rows and returns the names of the last one.
func (o *namesFixture) page(reports *query.Reports, limit int64) (shown, error) {
	f := query.ReportFilter{
		System: o.system, TimeField: query.CreatedAt, After: query.ReportKeyBefore(at("0001-01-02T00:00:00Z")),
		Until: at("9999-01-01T00:00:00Z"), Limit: limit,
	}
	out := encode.NewRowWriter(encode.NewLayout(report()...), f.System, nil)
	if _, err := reports.Page(context.Background(), f, out); err != nil {
		return shown{}, err
	}
	_, last, _ := strings.Cut(string(out.Body), fmt.Sprintf(`"CA%d"`, limit))
	name := func(member string) string {
		_, rest, _ := strings.Cut(last, `"`+member+`":{"id":"`)
		_, rest, _ = strings.Cut(rest, `"name":"`)
		name, _, _ := strings.Cut(rest, `"`)
		return name
	}
	return shown{name("answeredByExtension"), name("fromExtension")}, nil
}

// Two names that change in one commit before every statement are those of one snapshot: they are read in one transaction with the page. If that reads two
// generations, it is repeated.
func TestReports_NamesChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(o *namesFixture, name int)
		times  int
		want   string
		err    string
	}{
		"twice":             {func(o *namesFixture, name int) { o.rename("projection", name) }, 2, "2", ""},
		"two repairs":       {(*namesFixture).repair, 2, "2", ""},
		"always":            {func(o *namesFixture, name int) { o.rename("projection", name) }, 1000, "3", ""},
		"two switches":      {(*namesFixture).switchGenerations, 2, "2", ""},
		"eight switches":    {(*namesFixture).switchGenerations, 8, "8", ""},
		"switches, forever": {(*namesFixture).switchGenerations, 1000, "", "names changed while the page was read"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			o := newNamesFixture(t)
			o.addGeneration()
			changes := 0
			pool := schematest.OpenTracedPool(t, openReader(t, o.database), &schematest.Tracer{Statement: func(sql string, _ []any) {
				if !strings.Contains(sql, "projection.") {
					return
				}
				if changes++; changes <= c.times {
					c.change(o, changes)
				}
			}})
			reports, _ := newReportQueries(t, pool)
			page, err := o.page(reports, 2)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error = %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || page != (shown{c.want, c.want}) {
				t.Errorf("names = %v, %v, want %s", page, err, c.want)
			}
		})
	}
}

// Names that can't be read are the page's error. Those that are known are not shown instead, unless nothing has
// changed.
func TestReports_NamesUnreadable(t *testing.T) {
	t.Parallel()
	o := newNamesFixture(t)
	reports, _ := newReportQueries(t, openReader(t, o.database))
	if page, err := o.page(reports, 2); err != nil || page != (shown{"0", "0"}) {
		t.Fatalf("names = %v, %v, want 0", page, err)
	}
	o.exec("revoke select on projection.topology from callboard_reader")
	if page, err := o.page(reports, 2); err != nil || page != (shown{"0", "0"}) {
		t.Errorf("names without a change = %v, %v, want 0", page, err)
	}
	o.rename("projection", 1)
	if page, err := o.page(reports, 2); err == nil || !strings.Contains(err.Error(), "permission denied for table topology") {
		t.Errorf("names = %v, %v, want the error of the statement", page, err)
	}
}

// A page reads the names that no page before it has read since the last rename or repair.
func TestReports_NamesOfFollowingPages(t *testing.T) {
	t.Parallel()
	o := newNamesFixture(t)
	reports, registry := newReportQueries(t, openReader(t, o.database))
	for name, change := range []func(int){func(name int) { o.rename("projection", name) }, o.repair, o.repair} {
		change(name)
		for _, limit := range []int64{1, 2, 2} { // the first page refers to one of the names
			if page, err := o.page(reports, limit); err != nil || page.first != strconv.Itoa(name) {
				t.Errorf("page of %d rows: names = %v, %v, want %d", limit, page, err, name)
			}
		}
	}
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
		# HELP callboard_readapi_directory_pages_total Report pages by whether the reader knew all their names (hit) or read some (miss).
		# TYPE callboard_readapi_directory_pages_total counter
		callboard_readapi_directory_pages_total{result="hit"} 3
		callboard_readapi_directory_pages_total{result="miss"} 6
	`), "callboard_readapi_directory_pages_total")
	if err != nil {
		t.Error(err)
	}
}
