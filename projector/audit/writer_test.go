package audit_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"

	"callboard/events"
	writer "callboard/projector/audit"
	"callboard/projector/projectortest"
)

// A row has every field of its entry. An entry that is delivered twice has one row.
func TestWriter_StoresEntriesOnce(t *testing.T) {
	h := newHarness(t)
	full := newEntry(uuid.New(), h.noon)
	full.System, full.Status, full.Code = uuid.NullUUID{UUID: uuid.New(), Valid: true}, 403, "INSUFFICIENT_SCOPE"
	full.Address = netip.MustParseAddr("2001:db8::7")
	bare := newEntry(uuid.New(), h.noon.Add(time.Second))
	h.publish(full, bare)
	h.publish(bare)
	metrics := prometheus.NewRegistry()
	h.start(func(c *writer.Config) { c.Metrics = metrics })
	h.waitUntilStored()
	h.store(full)

	got := projectortest.Query[string](h.Harness, `
		select concat_ws(' ', id, key_id, (extract(epoch from at) * 1000000)::bigint, operation, system_id, status, code,
		  address, request_id)
		from access.audit order by at`)
	want := []string{
		fmt.Sprint(full.ID, " ", full.KeyID, " ", full.At.UnixMicro(), " ", full.Operation, " ", full.System.UUID,
			" 403 ", full.Code, " ", full.Address, " ", full.RequestID),
		fmt.Sprint(bare.ID, " ", bare.KeyID, " ", bare.At.UnixMicro(), " ", bare.Operation, " 200 ", bare.RequestID),
	}
	if !slices.Equal(got, want) {
		t.Errorf("rows = %q,\nwant %q", got, want)
	}
	if got := h.metric(metrics, "stored_total"); got != 2 {
		t.Errorf("stored_total = %v, want 2", got)
	}
	h.requireNoDeadLetters()
}

// An entry of several requests has one row with their count, however often it is delivered. The last of them is the
// key's last use. An entry without these members is one request.
func TestWriter_StoresCountsOnce(t *testing.T) {
	h := newHarness(t)
	several := newEntry(uuid.New(), h.noon)
	several.Operation, several.Status, several.Code, several.Address = "", 401, "UNAUTHENTICATED", netip.MustParseAddr("192.0.2.9")
	several.Count, several.LastAt, several.LastRequestID, several.Addresses = 19_997, h.noon.Add(9*time.Second), "last", 41
	one := newEntry(several.KeyID, h.noon.Add(5*time.Second))
	if line := h.line(one); strings.Contains(line, "count") || strings.Contains(line, "lastAt") {
		t.Fatalf("entry of one request = %s, want no members of several requests", line)
	}
	h.publish(several, one)
	h.publish(several)
	h.start()
	h.waitUntilStored()
	h.publish(one)
	h.store(several)
	got := projectortest.Query[string](h.Harness, `
		select concat_ws(' ', count, extract(epoch from last_at - at)::integer, last_request_id, addresses) from access.audit order by at`)
	if want := []string{"19997 9 last 41", "1 1"}; !slices.Equal(got, want) {
		t.Errorf("rows = %q, want %q", got, want)
	}
	used := projectortest.Query[string](h.Harness, "select concat(extract(epoch from at - $1)::integer, ' ', host(address)) from access.key_use", h.noon)
	if want := []string{"9 192.0.2.9"}; !slices.Equal(used, want) {
		t.Errorf("last use = %q, want %q", used, want)
	}
}

// A backlog is stored in several batches.
func TestWriter_StoresBacklogInBatches(t *testing.T) {
	h := newHarness(t)
	const messages = 12
	for range messages {
		list := make([]events.AuditEntry, events.MaxAuditEntries)
		for i := range list {
			list[i] = newEntry(uuid.New(), h.noon)
		}
		h.publish(list...)
	}
	metrics := prometheus.NewRegistry()
	h.start(func(c *writer.Config) { c.Metrics = metrics })
	h.waitUntilStored()
	const entries = messages * events.MaxAuditEntries
	h.eventually("the count of stored entries", func() bool { return h.metric(metrics, "stored_total") >= entries })
	if stored := h.metric(metrics, "stored_total"); stored != entries {
		t.Errorf("stored = %v, want %d", stored, entries)
	}
}

// A key's last use is the newest one, whatever the order of entries within a message, within a batch and between
// batches.
func TestWriter_LastUseIsTheNewest(t *testing.T) {
	h := newHarness(t)
	key, other := uuid.New(), uuid.New()
	at := func(key uuid.UUID, second int) events.AuditEntry {
		e := newEntry(key, h.noon.Add(time.Duration(second)*time.Second))
		e.Address = netip.AddrFrom4([4]byte{192, 0, 2, byte(second)})
		return e
	}
	use := func(key uuid.UUID) string {
		t.Helper()
		return projectortest.Query[string](h.Harness, "select to_char(at at time zone 'UTC', 'SS') || ' ' || host(address) from access.key_use where key_id = $1", key)[0]
	}
	h.publish(at(key, 10), at(key, 30), at(other, 5), at(key, 20))
	h.publish(at(key, 15))
	h.start()
	h.waitUntilStored()
	if got, want := use(key)+", "+use(other), "30 192.0.2.30, 05 192.0.2.5"; got != want {
		t.Errorf("last uses = %s, want %s", got, want)
	}
	h.store(at(key, 29), at(other, 6))
	if got, want := use(key)+", "+use(other), "30 192.0.2.30, 06 192.0.2.6"; got != want {
		t.Errorf("last uses after the second batch = %s, want %s", got, want)
	}
}

// The clock of a reader that is ahead does not hide later uses.
func TestWriter_LastUseIsNotInTheFuture(t *testing.T) {
	h := newHarness(t)
	key := uuid.New()
	ahead := newEntry(key, time.Now().Add(20*time.Hour))
	h.publish(ahead)
	h.start()
	h.waitUntilStored()
	use := func() time.Time {
		t.Helper()
		return projectortest.Query[time.Time](h.Harness, "select at from access.key_use where key_id = $1", key)[0]
	}
	if got := use(); got.After(time.Now()) {
		t.Errorf("last use = %s, want no time in the future", got)
	}
	later := newEntry(key, time.Now())
	h.store(later)
	if got := use(); !got.Equal(later.At) {
		t.Errorf("last use = %s, want %s", got, later.At)
	}
	h.requireIDs([]uuid.UUID{later.ID, ahead.ID})
}

// Partitions are days in UTC, whatever the time zones of the database and of the entry.
func TestWriter_PartitionsAreDaysInUTC(t *testing.T) {
	h := newHarness(t)
	h.Exec("do $$ begin execute format('alter database %I set timezone = ''Pacific/Auckland''', current_database()); end $$")
	today := midnight()
	last, first := newEntry(uuid.New(), today.Add(-time.Microsecond)), newEntry(uuid.New(), today)
	last.At, first.At = last.At.In(time.FixedZone("", 3*3600)), first.At.In(time.FixedZone("", 3*3600))
	h.publish(last, first)
	h.start()
	h.waitUntilStored()
	if got, want := h.partitions(), []string{partition(last.At.UTC()), partition(today)}; !slices.Equal(got, want) {
		t.Errorf("partitions = %v, want %v", got, want)
	}
	if got := projectortest.Query[uuid.UUID](h.Harness, "select id from "+partition(last.At.UTC())); !slices.Equal(got, []uuid.UUID{last.ID}) {
		t.Errorf("entries of yesterday = %v, want %v", got, last.ID)
	}
}

// Days older than the retention are dropped, and no others: by several writers at once, and more days than one
// statement can drop.
func TestWriter_DropsOldDays(t *testing.T) {
	h := newHarness(t)
	today := time.Now().UTC()
	h.Exec("select access.open_audit_day(date '2001-01-01' + i) from generate_series(0, 119) i")
	for _, age := range []int{0, 89, 90, 91} {
		h.openDay(today.AddDate(0, 0, -age))
	}
	metrics := []*prometheus.Registry{prometheus.NewRegistry(), prometheus.NewRegistry(), prometheus.NewRegistry()}
	for _, registry := range metrics {
		h.start(func(c *writer.Config) { c.Metrics = registry })
	}
	dropped := func() (n float64) {
		for _, registry := range metrics {
			n += h.metric(registry, "days_dropped_total")
		}
		return n
	}
	h.eventually("dropped days", func() bool { return dropped() >= 121 })
	if today.Day() != time.Now().UTC().Day() {
		t.Skip("midnight passed during the test")
	}
	var want []string
	for _, age := range []int{90, 89, 0} {
		want = append(want, partition(today.AddDate(0, 0, -age)))
	}
	if got := h.partitions(); !slices.Equal(got, want) {
		t.Errorf("partitions = %v, want %v; log:\n%s", got, want, h.log.String())
	}
}

// An entry of a detached day becomes a dead letter, and entries of other days are stored. After the day is attached
// again, its entries are stored. A day that was dropped is opened again.
func TestWriter_DetachedDay(t *testing.T) {
	h := newHarness(t)
	archived, other := newEntry(uuid.New(), h.noon), newEntry(uuid.New(), h.noon.AddDate(0, 0, -1))
	h.start()
	h.store(archived)
	h.Exec("alter table access.audit detach partition " + partition(h.noon))
	late := newEntry(uuid.New(), h.noon.Add(time.Hour))
	h.store(late, other)
	h.requireIDs([]uuid.UUID{other.ID})
	if got := projectortest.Query[uuid.UUID](h.Harness, "select id from "+partition(h.noon)); !slices.Equal(got, []uuid.UUID{archived.ID}) {
		t.Errorf("entries of the detached day = %v, want %v", got, archived.ID)
	}
	reasons := projectortest.Query[string](h.Harness, "select reason from control.dead_letter where position($1 in convert_from(data, 'UTF8')) > 0", late.ID.String())
	if len(reasons) != 1 || !strings.Contains(reasons[0], late.ID.String()) || !strings.Contains(reasons[0], h.noon.Format(time.DateOnly)) {
		t.Errorf("reasons = %v, want one with the entry and its day", reasons)
	}
	h.Exec(fmt.Sprintf("alter table access.audit attach partition %s for values from ('%s') to ('%s')",
		partition(h.noon), h.noon.Add(-12*time.Hour).Format(time.RFC3339), h.noon.Add(12*time.Hour).Format(time.RFC3339)))
	again := newEntry(uuid.New(), h.noon.Add(2*time.Hour))
	h.store(again)
	h.requireIDs([]uuid.UUID{other.ID, archived.ID, again.ID})

	h.Exec("drop table " + partition(h.noon))
	after := newEntry(uuid.New(), h.noon)
	h.store(after)
	h.requireIDs([]uuid.UUID{other.ID, after.ID})
}

// A message that cannot be decoded, or that NATS has copied to the subject, becomes a dead letter and is logged.
// The other messages are stored.
func TestWriter_UnreadableMessages(t *testing.T) {
	h := newHarness(t)
	valid := []events.AuditEntry{newEntry(uuid.New(), h.noon), newEntry(uuid.New(), h.noon.Add(time.Second))}
	h.publish(valid[0])
	empty := h.PublishRaw(events.AuditSubject, nil, "")
	sequence := h.PublishRaw(events.AuditSubject, nil, "hello\x00\xff")
	message, err := events.EncodeAudit([]events.AuditEntry{newEntry(uuid.New(), h.noon)})
	if err != nil {
		t.Fatal(err)
	}
	copied := h.PublishRaw(events.AuditSubject, nats.Header{"Nats-Stream": {"OBJ_PHONE_TRANSCRIPTS"}}, string(message))
	h.publish(valid[1])
	h.start()
	h.waitUntilStored()
	h.requireIDs([]uuid.UUID{valid[0].ID, valid[1].ID})
	got := projectortest.Query[string](h.Harness, `select format('%s %s %s %s %s', coalesce(stream::text, 'audit'), sequence, partition, subject, encode(data, 'hex')) from control.dead_letter order by sequence`)
	want := []string{
		fmt.Sprintf("audit %d 0 callboard.audit.log ", empty), fmt.Sprintf("audit %d 0 callboard.audit.log 68656c6c6f00ff", sequence),
		fmt.Sprintf("audit %d 0 callboard.audit.log %x", copied, message),
	}
	if !slices.Equal(got, want) {
		t.Errorf("dead letters = %q, want %q", got, want)
	}
	h.eventually("the log has the sequence", func() bool { return h.log.Contains(fmt.Sprintf(`"sequence":%d,`, sequence)) })
}

// If PostgreSQL refuses an entry, its message becomes a dead letter, and the other entries of the message and the
// batch are stored.
func TestWriter_RefusedEntries(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*events.AuditEntry){
		"status":    func(e *events.AuditEntry) { e.Status = 1 << 40 },
		"NUL in id": func(e *events.AuditEntry) { e.RequestID = "a\x00b" },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			var want []uuid.UUID
			messages := make([][]events.AuditEntry, 3)
			for i := range 9 {
				e := newEntry(uuid.New(), h.noon.Add(time.Duration(i)*time.Second))
				if i == 4 {
					spoil(&e)
				} else {
					want = append(want, e.ID)
				}
				messages[i/3] = append(messages[i/3], e)
			}
			for _, entries := range messages {
				h.publish(entries...)
			}
			h.start()
			h.waitUntilStored()
			if got := h.storedIDs(); !slices.Equal(got, want) {
				t.Errorf("stored = %v, want %v", got, want)
			}
			got := projectortest.Query[string](h.Harness, "select reason from control.dead_letter where sequence = 2")
			if len(got) != 1 || !strings.Contains(got[0], messages[1][1].ID.String()) || !strings.Contains(got[0], "SQLSTATE 22") {
				t.Errorf("reasons = %v, want one with the entry and SQLSTATE 22...", got)
			}
		})
	}
}

// Entries with implausible times, even thousands in one message, create no partitions. Their messages become dead
// letters, and the other entries are stored.
func TestWriter_ImplausibleTimes(t *testing.T) {
	h := newHarness(t)
	now := time.Now()
	valid := []events.AuditEntry{newEntry(uuid.New(), now.Add(-6*24*time.Hour)), newEntry(uuid.New(), now.Add(23*time.Hour))}
	h.publish(valid...)
	var want []string
	refused := func(sequence uint64) { want = append(want, strconv.FormatUint(sequence, 10)) }
	for _, year := range []int{1, 0, 1969, 1970, 9999} {
		e := h.line(newEntry(uuid.New(), time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)))
		refused(h.PublishRaw(events.AuditSubject, nil, e))
	}
	refused(h.PublishRaw(events.AuditSubject, nil, strings.Replace(h.line(newEntry(uuid.New(), h.noon)), h.noon.Format(time.RFC3339), "9999-12-31T23:00:00-12:00", 1)))
	refused(h.PublishRaw(events.AuditSubject, nil, h.line(newEntry(uuid.New(), now.Add(-8*24*time.Hour)))))
	beside := newEntry(uuid.New(), h.noon)
	many := []string{h.line(beside)}
	for day := range 3000 {
		many = append(many, h.line(newEntry(uuid.New(), now.AddDate(0, 0, day+2))))
	}
	refused(h.PublishRaw(events.AuditSubject, nil, strings.Join(many, "")))
	h.start()
	h.waitUntilStored()
	h.requireIDs([]uuid.UUID{valid[0].ID, beside.ID, valid[1].ID})
	if got := projectortest.Query[string](h.Harness, "select sequence::text from control.dead_letter order by sequence"); !slices.Equal(got, want) {
		t.Errorf("dead letters = %v, want %v", got, want)
	}
	if got := h.partitions(); len(got) != 3 {
		t.Errorf("partitions = %v, want 3", got)
	}
	if reasons := projectortest.Query[string](h.Harness, "select reason from control.dead_letter where sequence::text = $1", want[len(want)-1]); !strings.Contains(reasons[0], "its time") {
		t.Errorf("reasons = %v, want one about the time", reasons)
	}
}
