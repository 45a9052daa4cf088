package audit_test

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events/audit"
	"callboard/events/eventstest"
	filer "callboard/projector/audit"
)

// An entry's row says all that the entry says, and one that is delivered twice has one row.
func TestWriter_EntriesBecomeRows(t *testing.T) {
	s := newStage(t)
	full := entry(uuid.New(), s.noon)
	full.System, full.Status, full.Code = uuid.NullUUID{UUID: uuid.New(), Valid: true}, 403, "INSUFFICIENT_SCOPE"
	full.Address = netip.MustParseAddr("2001:db8::7")
	bare := entry(uuid.New(), s.noon.Add(time.Second))
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
func TestWriter_Backlog(t *testing.T) {
	s := newStage(t)
	const messages = 12
	for range messages {
		list := make([]audit.Entry, audit.MaxEntries)
		for i := range list {
			list[i] = entry(uuid.New(), s.noon)
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
func TestWriter_LastUseIsTheNewest(t *testing.T) {
	s := newStage(t)
	key, other := uuid.New(), uuid.New()
	at := func(key uuid.UUID, second int) audit.Entry {
		e := entry(key, s.noon.Add(time.Duration(second)*time.Second))
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

// A reader whose clock is ahead doesn't hide what a key is used for until then.
func TestWriter_LastUseIsNotAhead(t *testing.T) {
	s := newStage(t)
	key := uuid.New()
	ahead := entry(key, time.Now().Add(20*time.Hour))
	s.publish(ahead)
	s.start()
	s.drained()
	use := func() time.Time {
		t.Helper()
		return query[time.Time](s, "select at from access.key_use where key_id = $1", key)[0]
	}
	if got := use(); got.After(time.Now()) {
		t.Errorf("used last at %s", got)
	}
	later := entry(key, time.Now())
	s.publish(later)
	s.drained()
	if got := use(); !got.Equal(later.At) {
		t.Errorf("used last at %s, not %s", got, later.At)
	}
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{later.ID, ahead.ID}) {
		t.Errorf("filed: %v", got)
	}
}

// Every day of UTC has a partition of its own, wherever the database and the entry think they are.
func TestWriter_DaysAreOfUTC(t *testing.T) {
	s := newStage(t)
	s.exec("do $$ begin execute format('alter database %I set timezone = ''Pacific/Auckland''', current_database()); end $$")
	today := midnight()
	last, first := entry(uuid.New(), today.Add(-time.Microsecond)), entry(uuid.New(), today)
	last.At, first.At = last.At.In(time.FixedZone("", 3*3600)), first.At.In(time.FixedZone("", 3*3600))
	s.publish(last, first)
	s.start()
	s.drained()
	if got := s.days(); !slices.Equal(got, []string{partition(last.At.UTC()), partition(today)}) {
		t.Errorf("days: %v", got)
	}
	if got := query[uuid.UUID](s, "select id from "+partition(last.At.UTC())); !slices.Equal(got, []uuid.UUID{last.ID}) {
		t.Errorf("the day before: %v", got)
	}
}

// Days older than the retention are dropped, and no others, however many projectors do it at once.
func TestWriter_ForgetsOldDays(t *testing.T) {
	s := newStage(t)
	today := time.Now().UTC()
	ages := []int{0, 89, 90, 91, 92, 400}
	for _, age := range ages {
		s.openDay(today.AddDate(0, 0, -age))
	}
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
		want = append(want, partition(today.AddDate(0, 0, -age)))
	}
	if got := s.days(); !slices.Equal(got, want) || dropped() != 3 || s.log.count("can't be dropped") > 0 {
		t.Errorf("days: %v, want %v; %v dropped\n%s", got, want, dropped(), s.log.all())
	}
}

// More days than are dropped at a time are dropped all the same.
func TestWriter_ForgetsManyDays(t *testing.T) {
	s := newStage(t)
	s.exec("select access.open_audit_day(date '2001-01-01' + i) from generate_series(0, 149) i")
	s.openDay(s.noon)
	metrics := prometheus.NewRegistry()
	s.start(func(c *filer.Config) { c.Metrics = metrics })
	s.await("days dropped", func() bool { return count(t, metrics, "days_dropped_total") == 150 })
	if got := s.days(); !slices.Equal(got, []string{partition(s.noon)}) {
		t.Errorf("days: %v", got)
	}
}

// The entries of a day that was detached are set aside, and those of other days are filed.
func TestWriter_DetachedDay(t *testing.T) {
	s := newStage(t)
	archived, other := entry(uuid.New(), s.noon), entry(uuid.New(), s.noon.AddDate(0, 0, -1))
	s.start()
	s.publish(archived)
	s.drained()
	s.exec("alter table access.audit detach partition " + partition(s.noon))
	late := entry(uuid.New(), s.noon.Add(time.Hour))
	s.publish(late, other)
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{other.ID}) {
		t.Errorf("filed: %v", got)
	}
	if got := query[uuid.UUID](s, "select id from "+partition(s.noon)); !slices.Equal(got, []uuid.UUID{archived.ID}) {
		t.Errorf("the archive has %v", got)
	}
	reasons := query[string](s, "select reason from control.dead_letter where position($1 in convert_from(data, 'UTF8')) > 0", late.ID.String())
	if len(reasons) != 1 || !strings.Contains(reasons[0], late.ID.String()) || !strings.Contains(reasons[0], s.noon.Format(time.DateOnly)) {
		t.Errorf("reasons: %v", reasons)
	}
	s.exec(fmt.Sprintf("alter table access.audit attach partition %s for values from ('%s') to ('%s')",
		partition(s.noon), midnight().AddDate(0, 0, -1).Format(time.RFC3339), midnight().Format(time.RFC3339)))
	again := entry(uuid.New(), s.noon.Add(2*time.Hour))
	s.publish(again)
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{other.ID, archived.ID, again.ID}) {
		t.Errorf("filed once it is back: %v", got)
	}
}

// A day that is dropped while a filer believes it open is opened again.
func TestWriter_DayDroppedMeanwhile(t *testing.T) {
	s := newStage(t)
	before, after := entry(uuid.New(), s.noon), entry(uuid.New(), s.noon)
	s.start()
	s.publish(before)
	s.drained()
	s.exec("drop table " + partition(s.noon))
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
func TestWriter_UnreadableMessages(t *testing.T) {
	s := newStage(t)
	good := []audit.Entry{entry(uuid.New(), s.noon), entry(uuid.New(), s.noon.Add(time.Second))}
	s.publish(good[0])
	empty := s.raw("")
	sequence := s.raw("hello\x00\xff")
	s.publish(good[1])
	s.start()
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{good[0].ID, good[1].ID}) {
		t.Errorf("filed: %v", got)
	}
	got := query[string](s, `select format('%s %s %s %s %s', stream, sequence, partition, subject, encode(data, 'hex')) from control.dead_letter order by sequence`)
	want := []string{fmt.Sprintf("AUDIT %d 0 callboard.audit ", empty), fmt.Sprintf("AUDIT %d 0 callboard.audit 68656c6c6f00ff", sequence)}
	if !slices.Equal(got, want) {
		t.Errorf("dead letters: %q, want %q", got, want)
	}
	if !strings.Contains(s.log.all(), fmt.Sprintf(`"sequence":%d,`, sequence)) {
		t.Errorf("logged:\n%s", s.log.all())
	}
}

// An entry that PostgreSQL refuses costs itself: the others of its message and of its batch are filed, and its message is kept.
func TestWriter_RefusedEntries(t *testing.T) {
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
				e := entry(uuid.New(), s.noon.Add(time.Duration(i)*time.Second))
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

// Entries of times that can't be are set aside, thousands of days at once too, and make no tables; those beside them are filed.
func TestWriter_Times(t *testing.T) {
	s := newStage(t)
	now := time.Now()
	good := []audit.Entry{entry(uuid.New(), now.Add(-6*24*time.Hour)), entry(uuid.New(), now.Add(23*time.Hour))}
	s.publish(good...)
	var want []string
	refused := func(sequence uint64) { want = append(want, strconv.FormatUint(sequence, 10)) }
	for _, year := range []int{1, 0, 1969, 1970, 9999} {
		e := line(t, entry(uuid.New(), time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)))
		refused(s.raw(e))
	}
	refused(s.raw(strings.Replace(line(t, entry(uuid.New(), s.noon)), s.noon.Format(time.RFC3339), "9999-12-31T23:00:00-12:00", 1)))
	refused(s.raw(line(t, entry(uuid.New(), now.Add(-8*24*time.Hour)))))
	beside := entry(uuid.New(), s.noon)
	many := []string{line(t, beside)}
	for day := range 3000 {
		many = append(many, line(t, entry(uuid.New(), now.AddDate(0, 0, day+2))))
	}
	refused(s.raw(strings.Join(many, "")))
	s.start()
	s.drained()
	if got := s.ids(); !slices.Equal(got, []uuid.UUID{good[0].ID, beside.ID, good[1].ID}) {
		t.Errorf("filed: %v", got)
	}
	if got := query[string](s, "select sequence::text from control.dead_letter order by sequence"); !slices.Equal(got, want) {
		t.Errorf("set aside: %v, want %v", got, want)
	}
	if got := s.days(); len(got) != 3 {
		t.Errorf("days: %v", got)
	}
	if reasons := query[string](s, "select reason from control.dead_letter where sequence::text = $1", want[len(want)-1]); !strings.Contains(reasons[0], "its time") {
		t.Errorf("reasons: %v", reasons)
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

func TestImports(t *testing.T) { eventstest.Imports(t) }
