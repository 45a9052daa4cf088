package audit_test

import (
	"fmt"
	"net/netip"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events/audit"
	filer "callboard/projector/audit"
)

// An entry's row says all that the entry says, and one that is delivered twice has one row.
func TestFiler_EntriesBecomeRows(t *testing.T) {
	s := newStage(t)
	full := entry(uuid.New(), noon())
	full.System, full.Status, full.Code = uuid.NullUUID{UUID: uuid.New(), Valid: true}, 403, "INSUFFICIENT_SCOPE"
	full.Address = netip.MustParseAddr("2001:db8::7")
	bare := entry(uuid.New(), noon().Add(time.Second))
	s.publish(full, bare)
	s.publish(bare)
	metrics := prometheus.NewRegistry()
	s.start(func(c *filer.Config) { c.Metrics = metrics })
	s.drained()
	s.publish(full)
	s.drained()

	type row struct {
		ID, KeyID uuid.UUID
		At        time.Time
		Operation string
		SystemID  uuid.NullUUID
		Status    int
		Code      *string
		Address   *netip.Addr
		RequestID string
	}
	rows, err := s.pool.Query(t.Context(), "select id, key_id, at, operation, system_id, status, code, address, request_id from access.audit order by at")
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByName[row])
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].At = got[i].At.UTC()
	}
	want := []row{
		{full.ID, full.KeyID, full.At, full.Operation, full.System, full.Status, &full.Code, &full.Address, full.RequestID},
		{bare.ID, bare.KeyID, bare.At, bare.Operation, uuid.NullUUID{}, bare.Status, nil, nil, bare.RequestID},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if n := count(t, metrics, "filed_total"); n != 2 {
		t.Errorf("%v entries counted", n)
	}
	if n := s.deadLetters(); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

// What waits is filed in portions, and nothing of it is delivered twice.
func TestFiler_Backlog(t *testing.T) {
	s := newStage(t)
	const messages = 12
	for range messages {
		list := make([]audit.Entry, audit.MaxEntries)
		for i := range list {
			list[i] = entry(uuid.New(), noon())
		}
		s.publish(list...)
	}
	metrics := prometheus.NewRegistry()
	s.start(func(c *filer.Config) { c.Metrics = metrics })
	s.drained()
	consumer, err := s.stream.Consumer(t.Context(), audit.Consumer)
	if err != nil {
		t.Fatal(err)
	}
	if n := consumer.CachedInfo().Delivered.Consumer; n != messages {
		t.Errorf("%d deliveries", n)
	}
	if filed, batches := count(t, metrics, "filed_total"), count(t, metrics, "batches_total"); filed != messages*audit.MaxEntries || batches < 2 {
		t.Errorf("%v entries in %v batches", filed, batches)
	}
}

// count is the value of one of a filer's metrics.
func count(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "callboard_projector_audit_"+name {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// A key's last use is its newest, in whatever order entries come: within a message, within a batch, and afterwards.
func TestFiler_LastUseIsTheNewest(t *testing.T) {
	s := newStage(t)
	key, other := uuid.New(), uuid.New()
	at := func(key uuid.UUID, second int) audit.Entry {
		e := entry(key, noon().Add(time.Duration(second)*time.Second))
		e.Address = netip.AddrFrom4([4]byte{192, 0, 2, byte(second)})
		return e
	}
	use := func(key uuid.UUID) string {
		t.Helper()
		return query[string](s, "select to_char(at at time zone 'UTC', 'SS') || ' ' || host(address) from access.key_use where key_id = $1", key)[0]
	}
	s.publish(at(key, 10), at(key, 30), at(other, 5), at(key, 20))
	s.publish(at(key, 15))
	s.start()
	s.drained()
	if got := use(key) + ", " + use(other); got != "30 192.0.2.30, 05 192.0.2.5" {
		t.Error(got)
	}
	s.publish(at(key, 29), at(other, 6))
	s.drained()
	if got := use(key) + ", " + use(other); got != "30 192.0.2.30, 06 192.0.2.6" {
		t.Errorf("later: %s", got)
	}
}

// Every day of UTC has a partition of its own, wherever the database and the entry think they are.
func TestFiler_DaysAreOfUTC(t *testing.T) {
	s := newStage(t)
	s.exec("do $$ begin execute format('alter database %I set timezone = ''Pacific/Auckland''', current_database()); end $$")
	midnight := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
	last, first := entry(uuid.New(), midnight.Add(-time.Microsecond)), entry(uuid.New(), midnight)
	last.At, first.At = last.At.In(time.FixedZone("", 3*3600)), first.At.In(time.FixedZone("", 3*3600))
	s.publish(last, first)
	s.start()
	s.drained()
	if got := s.days(); !slices.Equal(got, []string{"access.audit_20260302", "access.audit_20260303"}) {
		t.Errorf("days: %v", got)
	}
	if got := query[uuid.UUID](s, "select id from access.audit_20260302"); !slices.Equal(got, []uuid.UUID{last.ID}) {
		t.Errorf("the day before: %v", got)
	}
}

// Days older than the retention are dropped, and no others, however many projectors do it at once.
func TestFiler_ForgetsOldDays(t *testing.T) {
	s := newStage(t)
	today := time.Now().UTC()
	ages := []int{0, 89, 90, 91, 92, 400}
	for _, age := range ages {
		s.publish(entry(uuid.New(), today.AddDate(0, 0, -age)))
	}
	stop := s.start(func(c *filer.Config) { c.Retention = 1000 })
	s.drained()
	stop()
	if got := s.days(); len(got) != len(ages) {
		t.Fatalf("days: %v", got)
	}
	metrics := []*prometheus.Registry{prometheus.NewRegistry(), prometheus.NewRegistry(), prometheus.NewRegistry()}
	for _, own := range metrics {
		s.start(func(c *filer.Config) { c.Metrics = own })
	}
	dropped := func() (n float64) {
		for _, own := range metrics {
			n += count(t, own, "days_dropped_total")
		}
		return n
	}
	s.await("days dropped", func() bool { return dropped() > 0 })
	if today.Day() != time.Now().UTC().Day() {
		t.Skip("midnight passed meanwhile")
	}
	var want []string
	for _, age := range []int{90, 89, 0} {
		want = append(want, "access.audit_"+today.AddDate(0, 0, -age).Format("20060102"))
	}
	if got := s.days(); !slices.Equal(got, want) || dropped() != 3 || s.log.count("can't be dropped") > 0 {
		t.Errorf("days: %v, want %v; %v dropped\n%s", got, want, dropped(), s.log.all())
	}
}

// A day that is dropped while a filer believes it open is opened again.
func TestFiler_DayDroppedMeanwhile(t *testing.T) {
	s := newStage(t)
	before, after := entry(uuid.New(), noon()), entry(uuid.New(), noon())
	s.start(func(c *filer.Config) { c.Retention = 100_000 })
	s.publish(before)
	s.drained()
	s.exec("drop table access.audit_20260302")
	s.publish(after)
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{after.ID}) {
		t.Errorf("filed: %v", got)
	}
	if n := s.deadLetters(); n != 0 {
		t.Errorf("%d dead letters", n)
	}
}

// A message that can't be read is kept whole, and said, and those beside it are filed.
func TestFiler_UnreadableMessages(t *testing.T) {
	s := newStage(t)
	good := []audit.Entry{entry(uuid.New(), noon()), entry(uuid.New(), noon().Add(time.Second))}
	s.publish(good[0])
	sequence := s.raw("hello\x00\xff")
	s.publish(good[1])
	s.start()
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{good[0].ID, good[1].ID}) {
		t.Errorf("filed: %v", got)
	}
	got := query[string](s, `select format('%s %s %s %s %s', stream, sequence, partition, subject, encode(data, 'hex')) from control.dead_letter`)
	if want := fmt.Sprintf("AUDIT %d 0 callboard.audit 68656c6c6f00ff", sequence); !slices.Equal(got, []string{want}) {
		t.Errorf("dead letters: %v, want %s", got, want)
	}
	if !strings.Contains(s.log.all(), fmt.Sprintf(`"sequence":%d,`, sequence)) {
		t.Errorf("logged:\n%s", s.log.all())
	}
}

// An entry that PostgreSQL refuses costs itself: the others of its message and of its batch are filed, and its message is kept.
func TestFiler_RefusedEntries(t *testing.T) {
	for name, spoil := range map[string]func(*audit.Entry){
		"a status":    func(e *audit.Entry) { e.Status = 1 << 40 },
		"NUL":         func(e *audit.Entry) { e.RequestID = "a\x00b" },
		"another NUL": func(e *audit.Entry) { e.Code = "\x00" },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			var want []uuid.UUID
			messages := make([][]audit.Entry, 3)
			for i := range 9 {
				e := entry(uuid.New(), noon().Add(time.Duration(i)*time.Second))
				if i == 4 {
					spoil(&e)
				} else {
					want = append(want, e.ID)
				}
				messages[i/3] = append(messages[i/3], e)
			}
			for _, entries := range messages {
				s.publish(entries...)
			}
			s.start()
			s.drained()
			if got := s.ids(); !slices.Equal(got, want) {
				t.Errorf("filed: %v, want %v", got, want)
			}
			got := query[string](s, "select reason from control.dead_letter where sequence = 2")
			if len(got) != 1 || !strings.Contains(got[0], messages[1][1].ID.String()) || !strings.Contains(got[0], "SQLSTATE 22") {
				t.Errorf("reasons: %v", got)
			}
		})
	}
}

// Times that a clock may claim are filed or set aside, and hold nothing up.
func TestFiler_AnyTime(t *testing.T) {
	s := newStage(t)
	years := []int{1, 0, 1969, 1970, 9999}
	for _, year := range years {
		s.publish(entry(uuid.New(), time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)))
	}
	s.raw(strings.Replace(line(t, entry(uuid.New(), noon())), "2026-03-02T12:00:00Z", "9999-12-31T23:00:00-12:00", 1))
	s.start(func(c *filer.Config) { c.Retention = 1_000_000 })
	s.drained()
	if n := len(s.ids()) + s.deadLetters(); n != len(years)+1 {
		t.Errorf("%d of %d accounted for", n, len(years)+1)
	}
}

func line(t *testing.T, e audit.Entry) string {
	t.Helper()
	message, err := audit.Encode([]audit.Entry{e})
	if err != nil {
		t.Fatal(err)
	}
	return string(message)
}

// Of callboard, the filer knows the entries of the stream, and how a refusal of PostgreSQL reads.
func TestImports(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports "\n"}}`, ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{"callboard/events/audit", "callboard/projector/store"}
	for _, path := range strings.Fields(string(out)) {
		if strings.HasPrefix(path, "callboard/") && !slices.Contains(allowed, path) {
			t.Errorf("imports %s", path)
		}
	}
}
