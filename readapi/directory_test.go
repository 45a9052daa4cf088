package readapi

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
	"callboard/projector/store"
	"callboard/readapi/encode"
	"callboard/readapi/query"
	"callboard/schema"
	"callboard/schema/schematest"
)

//go:embed query/testdata/reports_with_joins.sql
var reportsWithJoinsSQL string

// reportFilter is a page from the first row on, by createdAt.
func reportFilter(system uuid.UUID, limit int64, transcripts bool) query.ReportFilter {
	return query.ReportFilter{
		System: system, TimeField: query.CreatedAt, After: query.ReportKeyBefore(at("0001-01-02T00:00:00Z")),
		Until: at("9999-01-01T00:00:00Z"), Limit: limit, Transcripts: transcripts, MaxStored: maxStoredTranscripts,
	}
}

func reportRows(f query.ReportFilter) *encode.RowWriter {
	members := report()
	if f.Transcripts {
		members = transcribedReport()
	}
	return encode.NewRowWriter(encode.NewLayout(members...), f.System, nil)
}

// joinedNames are the names that the statement with joins has found.
type joinedNames struct {
	references map[string]string // by family and id
	codes      map[string][2]string
}

// Reference implements [encode.Names].
func (n joinedNames) Reference(family string, id uuid.UUID) string {
	if object, ok := n.references[family+id.String()]; ok {
		return object
	}
	short := id.String()[:8]
	number := pgtype.Text{Valid: family != "representative"}
	return referenceObject(id, map[string]string{"call_group": "Call group ", "extension": "Extension ", "representative": "Representative "}[family]+short, number)
}

func referenceObject(id uuid.UUID, name string, number pgtype.Text) string {
	b := encode.UUID([]byte(`{"id":`), id)
	b = encode.String(append(b, `,"name":`...), name)
	if number.Valid {
		b = encode.String(append(b, `,"number":`...), number.String)
	}
	return string(b) + "}"
}

// Code implements [encode.Names].
func (n joinedNames) Code(kind string, code []byte) (object, score string) {
	if found, ok := n.codes[kind+string(code)]; ok {
		return found[0], found[1]
	}
	return codeObject(string(code), ""), "null"
}

func codeObject(code, label string) string {
	b := encode.String([]byte(`{"code":`), code)
	b = encode.String(append(b, `,"label":`...), query.Label(code, label))
	return string(b) + "}"
}

// joined reads a page by one statement with joins.
func joined(tb rapid.TB, pool *pgxpool.Pool, f query.ReportFilter) string {
	tb.Helper()
	var (
		families, kinds, codes, labels []string
		ids                            [][16]byte
		texts, numbers                 []pgtype.Text
		scores                         []pgtype.Float8
	)
	targets := []any{&families, &ids, &texts, &numbers, &kinds, &codes, &labels, &scores}
	rows, err := pool.Query(context.Background(), reportsWithJoinsSQL,
		f.System, f.After.Time, f.After.ID, f.Until, f.Limit, f.Transcripts, f.MaxStored)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	const first = 5 // of the columns with names
	out := reportRows(f)
	for rows.Next() && out.Count < int(f.Limit) {
		raw, columns := rows.RawValues(), rows.FieldDescriptions()
		end := len(columns)
		if !f.Transcripts {
			end -= 2
		}
		if out.Names == nil {
			if err := pgx.ScanRow(rows.Conn().TypeMap(), columns[first:first+len(targets)], raw[first:first+len(targets)], targets...); err != nil {
				tb.Fatal(err)
			}
			n := joinedNames{references: make(map[string]string), codes: make(map[string][2]string)}
			for i, id := range ids {
				object := ""
				if texts[i].Valid {
					object = referenceObject(id, texts[i].String, numbers[i])
				}
				n.references[families[i]+uuid.UUID(id).String()] = object
			}
			for i, code := range codes {
				score := "null"
				if scores[i].Valid {
					score = string(encode.Float(nil, scores[i].Float64))
				}
				n.codes[kinds[i]+code] = [2]string{codeObject(code, labels[i]), score}
			}
			if err := out.Begin(columns[first+len(targets) : end]); err != nil {
				tb.Fatal(err)
			}
			out.Names = n
		}
		if raw[first+len(targets)] != nil {
			if err := out.Append(raw[first+len(targets) : end]); err != nil {
				tb.Fatal(err)
			}
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return string(out.Body)
}

// newReportQueries returns report pages with a directory of their own.
func newReportQueries(tb rapid.TB, pool *pgxpool.Pool) *query.Reports {
	tb.Helper()
	r, _ := newMeasuredReportQueries(tb, pool)
	return r
}

func newMeasuredReportQueries(tb rapid.TB, pool *pgxpool.Pool) (*query.Reports, *prometheus.Registry) {
	tb.Helper()
	registry := prometheus.NewRegistry()
	directory, err := query.NewNameCache(query.DefaultNameMemory, registry)
	if err != nil {
		tb.Fatal(err)
	}
	return query.New(pool).CallLogReports(directory), registry
}

// callsWithReferences are calls of the first phone system that refer to all that a random history has in its directory.
func callsWithReferences() []foldtest.TimedEvent {
	var history []foldtest.TimedEvent
	for i := range 2 {
		created := events.Time(500_000 + i)
		for _, state := range []events.State{
			&events.Call{
				ID: foldtest.ID(38 + i), PhoneSystemID: foldtest.ID(1), Version: 1, CallSid: "CA0", CreatedAt: created,
				CallGroupID: events.Some(foldtest.ID(20 + i)), FromExtensionID: events.Some(foldtest.ID(10 + i)), AnsweredByExtensionID: events.Some(foldtest.ID(11 - i)),
			},
			&events.Analysis{
				ID: foldtest.ID(88 + i), PhoneSystemID: foldtest.ID(1), Version: 1, CallID: foldtest.ID(38 + i), CallSid: "CA0", Status: "completed",
				CreatedAt: created, Category: events.Some(fmt.Sprint("code ", 1+i)),
				Representative: &events.RepresentativeRole{State: "identified", ID: events.Some(foldtest.ID(70 + i))},
			},
		} {
			history = append(history, foldtest.TimedEvent{Event: events.Changed(state), At: created})
		}
	}
	return history
}

// ofDirectory reports whether an event is about something that report rows refer to.
func ofDirectory(e foldtest.TimedEvent) bool {
	return slices.Contains([]events.Entity{
		events.EntityExtension, events.EntityCallGroup, events.EntityRepresentative, events.EntityClassification,
	}, e.Entity)
}

// directoryHistory writes a random history as the projector does.
type directoryHistory struct {
	*rapid.T
	pool     *pgxpool.Pool // of the projection's owner
	store    *store.Store
	position store.Position
}

// apply folds events and commits them.
func (h *directoryHistory) apply(batch []foldtest.TimedEvent) {
	h.Helper()
	list := make([]events.Event, len(batch))
	for i, e := range batch {
		list[i] = e.Event
	}
	to := h.position
	to.Sequence += uint64(len(batch))
	err := h.store.BeginFunc(context.Background(), func(tx *store.Tx) error {
		state, err := tx.Load(context.Background(), to.Partition, list, false)
		if err != nil {
			return err
		}
		foldAll(state, batch)
		return tx.Write(context.Background(), &store.ChangeSet{From: h.position, To: to, State: state})
	})
	if err != nil {
		h.Fatal(err)
	}
	h.position = to
}

// foldAll folds events. One that contradicts the state would be a dead letter, and changes nothing.
func foldAll(state *fold.State, batch []foldtest.TimedEvent) {
	for _, e := range batch {
		_, _ = state.Fold(e.Event, e.At)
	}
}

func (h *directoryHistory) exec(sql string, arguments ...any) {
	h.Helper()
	if _, err := h.pool.Exec(context.Background(), sql, arguments...); err != nil {
		h.Fatal(err)
	}
}

// interfere does what changes names outside of the projector's commits, or raises the epoch without a change.
func (h *directoryHistory) interfere() {
	h.Helper()
	switch rapid.IntRange(0, 9).Draw(h.T, "interference") {
	case 0: // repair
		h.exec(`begin;
			update projection.extension set name = name || '!';
			update projection.classification set label = label || '!', score = coalesce(score, 0) + 1;
			delete from projection.representative where ctid = (select min(ctid) from projection.representative);
			update projection.position set epoch = epoch + 1;
			commit`)
		h.claim()
	case 1: // a switch to another generation
		h.exec(`begin;
			update projection.extension set name = name || '?';
			update projection.generation set id = id + 1;
			commit`)
	case 2:
		h.claim()
	}
}

func (h *directoryHistory) claim() {
	h.Helper()
	var err error
	if h.position, err = h.store.Claim(context.Background(), store.Stream{Name: "PHONES", Created: at(windowFrom)}, 0); err != nil {
		h.Fatal(err)
	}
}

// After every commit of a random history, a page is that of one statement with joins, byte for byte. It is the same through a directory
// that has seen all pages, one that has seen few of them, and an empty one.
func TestReports_NamesAreThoseOfTheSnapshot(t *testing.T) {
	schematest.NeedOneServer(t, "its statement of comparison has no partition")
	t.Parallel()
	database := schematest.New(t)
	database.OnePartition(t)
	owner, reader := database.Pool(t), openReader(t, database)
	projector := store.New(database.ProjectorPool(t))
	rapid.Check(t, func(r *rapid.T) {
		h := &directoryHistory{T: r, pool: owner, store: projector}
		database.ClearProjection(t)
		h.claim()
		systems := []uuid.UUID{foldtest.ID(1), foldtest.ID(2)}
		for _, system := range systems {
			h.exec("insert into projection.phone_system (partition, id, version, name) values (0, $1, 1, '')", system)
		}
		warm, rare := newReportQueries(r, reader), newReportQueries(r, reader)
		h.apply(callsWithReferences())
		rest := foldtest.RandomHistory(r)
		if rapid.Bool().Draw(r, "directory only") {
			rest = slices.DeleteFunc(rest, func(e foldtest.TimedEvent) bool { return !ofDirectory(e) })
		}
		for commits := 0; len(rest) > 0; commits++ {
			n := rapid.IntRange(1, max(1, len(rest)/2)).Draw(r, "batch")
			h.apply(rest[:n])
			rest = rest[n:]
			h.interfere()
			queries := map[string]*query.Reports{"warm": warm, "empty": newReportQueries(r, reader)}
			if commits%3 == 0 {
				queries["rare"] = rare
			}
			for _, system := range systems {
				f := reportFilter(system, rapid.Int64Range(1, 25).Draw(r, "limit"), rapid.Bool().Draw(r, "transcripts"))
				want := joined(r, reader, f)
				for name, reports := range queries {
					out := reportRows(f)
					if _, err := reports.Page(context.Background(), f, out); err != nil || string(out.Body) != want {
						r.Fatalf("%s directory: page = %s, %v, want %s", name, out.Body, err, want)
					}
				}
			}
		}
	})
}

// namesFixture is a phone system with two extensions and two calls. The first one refers to one extension, the second one to both.
type namesFixture struct {
	*fixture
	database *schematest.Database
	system   uuid.UUID
	first    uuid.UUID
	second   uuid.UUID
}

func newNamesFixture(tb testing.TB) *namesFixture {
	tb.Helper()
	return newNamesFixtureIn(tb, schematest.New(tb))
}

func newNamesFixtureIn(tb testing.TB, database *schematest.Database) *namesFixture {
	tb.Helper()
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
		update %[1]s.extension set name = '%[2]d';
		insert into %[1]s.directory as d (system_id, version) values ('%[3]s', 1) on conflict (partition, system_id) do update set version = d.version + 1;
		commit`, schema, name, o.system))
}

// repair gives both extensions the same name, as a repair of the phone system.
func (o *namesFixture) repair(name int) {
	o.Helper()
	o.exec(fmt.Sprintf("begin; update projection.extension set name = '%d'; update projection.position set epoch = epoch + 1; commit", name))
}

// addGeneration makes another generation of the same rows. switchTo makes it live.
func (o *namesFixture) addGeneration() {
	o.Helper()
	o.copyGeneration("other")
	o.exec("update other.generation set id = id + 1")
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

// invalidatePlans makes readers plan again, as a rebuild does after a switch.
func (o *namesFixture) invalidatePlans() {
	o.Helper()
	conn, err := o.pool.Acquire(o.Context())
	if err != nil {
		o.Fatal(err)
	}
	defer conn.Release()
	if err := schema.InvalidatePlans(o.Context(), conn.Conn()); err != nil {
		o.Fatal(err)
	}
}

// shown is a row's names of the two extensions.
type shown struct {
	first, second string
}

// page reads a page of one or two rows and returns the names of the last one.
func (o *namesFixture) page(reports *query.Reports, limit int64) (shown, error) {
	f := reportFilter(o.system, limit, false)
	out := reportRows(f)
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

// Two extensions that are renamed in one commit always have the same name in a page, also while generations are switched and phone systems
// are repaired.
func TestReports_NamesAreOfOneSnapshot(t *testing.T) {
	t.Parallel()
	o := newNamesFixture(t)
	o.addGeneration()
	readers := o.startReaders(newReportQueries(t, openReader(t, o.database)))
	defer readers.stop()
	for name := 1; readers.pages.Load() < 3_000 && readers.late.Load() == 0 && !t.Failed(); name++ {
		switch {
		case name%20 == 0:
			o.rename("projection", name) // until plans are invalidated, a page can have names of both generations
			o.switchGenerations(name)
			o.invalidatePlans()
		case name%10 == 0:
			o.repair(name)
		default:
			o.rename("projection", name)
		}
		readers.committed.Store(int64(name))
	}
	t.Logf("pages compared = %d, during which the names changed at each attempt = %d", readers.pages.Load(), readers.refused.Load())
	if late := readers.late.Load(); late > 0 {
		t.Errorf("pages with a name older than the one that was committed before = %d, want 0", late)
	}
}

// nameReaders read pages and check that both extensions have the same name.
type nameReaders struct {
	*namesFixture
	reports   *query.Reports
	committed atomic.Int64 // the last name that was committed
	pages     atomic.Int64
	refused   atomic.Int64 // pages during which the names changed at each attempt
	late      atomic.Int64 // pages with a name older than the one that was committed before
	stopped   atomic.Bool
	running   sync.WaitGroup
}

func (o *namesFixture) startReaders(reports *query.Reports) *nameReaders {
	r := &nameReaders{namesFixture: o, reports: reports}
	for n := range 8 {
		limit := int64(1 + n%2) // half of the pages put one of the names into the directory
		r.running.Go(func() {
			for !r.stopped.Load() && r.read(limit) {
				continue
			}
		})
	}
	return r
}

func (r *nameReaders) stop() {
	r.stopped.Store(true)
	r.running.Wait()
}

// read reads a page, and tells whether it was right. It counts pages that were compared.
func (r *nameReaders) read(limit int64) bool {
	committed := r.committed.Load()
	page, err := r.page(r.reports, limit)
	if err != nil && strings.Contains(err.Error(), "names changed while the page was read") {
		r.refused.Add(1)
		return true // each attempt met a switch: the writer is faster than a reader that has to wait for a processor
	}
	if err != nil || limit == 2 && page.first != page.second {
		r.Errorf("names = %s and %s, %v, want the same", page.first, page.second, err)
		return false
	}
	name, err := parseName(page.first)
	if err != nil {
		r.Error(err)
		return false
	}
	if name < committed {
		r.late.Add(1)
	}
	r.pages.Add(1)
	return true
}

func parseName(text string) (name int64, err error) {
	_, err = fmt.Sscan(text, &name)
	return name, err
}

// Names that change before every statement are read in one transaction with the page. If that reads two generations, it is repeated.
func TestReports_NamesChangeMeanwhile(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		change func(o *namesFixture, name int)
		times  int
		want   string
		err    string
	}{
		"twice":             {func(o *namesFixture, name int) { o.rename("projection", name) }, 2, "2", ""},
		"always":            {func(o *namesFixture, name int) { o.rename("projection", name) }, 1000, "7", ""},
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
			page, err := o.page(newReportQueries(t, pool), 2)
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

// Names that can't be read are the page's error. Those that are known are not shown instead, unless nothing has changed.
func TestReports_NamesUnreadable(t *testing.T) {
	t.Parallel()
	o := newNamesFixture(t)
	reports := newReportQueries(t, openReader(t, o.database))
	if page, err := o.page(reports, 2); err != nil || page != (shown{"0", "0"}) {
		t.Fatalf("names = %v, %v, want 0", page, err)
	}
	o.exec("revoke select on projection.extension from callboard_reader")
	if page, err := o.page(reports, 2); err != nil || page != (shown{"0", "0"}) {
		t.Errorf("names without a change = %v, %v, want 0", page, err)
	}
	o.rename("projection", 1)
	if page, err := o.page(reports, 2); err == nil || !strings.Contains(err.Error(), "permission denied for table extension") {
		t.Errorf("names = %v, %v, want the error of the statement", page, err)
	}
}

// The metrics count pages by whether names were read.
// After a rename, the first page reads the names for the pages that follow.
func TestReports_NamesOfFollowingPages(t *testing.T) {
	t.Parallel()
	o := newNamesFixture(t)
	reports, registry := newMeasuredReportQueries(t, openReader(t, o.database))
	for name := range 3 {
		o.rename("projection", name)
		for _, limit := range []int64{1, 2} { // the first page refers to one of the names
			if page, err := o.page(reports, limit); err != nil || page.first != strconv.Itoa(name) {
				t.Errorf("page of %d rows: names = %v, %v, want %d", limit, page, err, name)
			}
		}
	}
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
		# HELP callboard_readapi_directory_pages_total Report pages by whether the reader knew all their names (hit) or read some (miss).
		# TYPE callboard_readapi_directory_pages_total counter
		callboard_readapi_directory_pages_total{result="hit"} 2
		callboard_readapi_directory_pages_total{result="miss"} 4
	`), "callboard_readapi_directory_pages_total")
	if err != nil {
		t.Error(err)
	}
}

func TestReports_DirectoryMetrics(t *testing.T) {
	t.Parallel()
	o := newNamesFixture(t)
	reports, registry := newMeasuredReportQueries(t, openReader(t, o.database))
	for name := range 2 {
		o.rename("projection", name)
		for range 3 {
			if _, err := o.page(reports, 2); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := testutil.GatherAndCompare(registry, strings.NewReader(`
		# HELP callboard_readapi_directory_pages_total Report pages by whether the reader knew all their names (hit) or read some (miss).
		# TYPE callboard_readapi_directory_pages_total counter
		callboard_readapi_directory_pages_total{result="hit"} 4
		callboard_readapi_directory_pages_total{result="miss"} 2
		# HELP callboard_readapi_directory_reruns_total Statements of report pages that ran again because names changed before they were read.
		# TYPE callboard_readapi_directory_reruns_total counter
		callboard_readapi_directory_reruns_total 0
	`), "callboard_readapi_directory_pages_total", "callboard_readapi_directory_reruns_total")
	if err != nil {
		t.Error(err)
	}
}
