package access

import (
	"context"
	"fmt"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// The number of days that a test's audit has partitions for, beginning with firstDay.
const auditDays = 3

func firstDay() time.Time { return time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) }

// insertAudit creates the days' partitions and inserts entries of a key.
func (h *harness) insertAudit(key uuid.UUID, entries ...AuditEntry) {
	h.Helper()
	h.exec("select access.open_audit_day(date '2026-03-01' + i) from generate_series(0, $1 - 1) i", auditDays)
	for _, e := range entries {
		h.exec("insert into access.audit values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
			e.At, e.ID, key, e.Operation, e.System, e.Status, e.Code, e.Address, e.RequestID)
	}
}

func (h *harness) audit(key uuid.UUID, since time.Time, limit int) ([]AuditEntry, bool) {
	h.Helper()
	entries, more, err := h.registry.Audit(context.Background(), key, since, limit)
	if err != nil {
		h.Fatal(err)
	}
	for i := range entries {
		entries[i].At, entries[i].LastAt = entries[i].At.UTC(), entries[i].LastAt.UTC()
	}
	return entries, more
}

// Audit returns only the key's own entries, newest first across days, up to the limit.
func TestRegistry_Audit(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	key, code, address := uuid.New(), "NOT_FOUND", netip.MustParseAddr("192.0.2.7")
	answered := AuditEntry{ID: uuid.New(), At: firstDay().Add(23 * time.Hour), Operation: "listCallLogs", Status: 200, RequestID: "a"}
	answered.System = uuid.NullUUID{UUID: uuid.New(), Valid: true}
	denied := AuditEntry{
		ID: uuid.New(), At: firstDay().Add(25 * time.Hour), Operation: "getCallLog", Status: 404, Code: &code, Address: &address, RequestID: "b",
	}
	sameTime := denied
	sameTime.ID = uuid.UUID{0xff}
	denied.ID = uuid.UUID{0x01}
	h.insertAudit(key, answered, sameTime, denied)
	all := []AuditEntry{sameTime, denied, answered}
	for i := range all {
		all[i].Count, all[i].LastAt, all[i].LastRequestID, all[i].Addresses = 1, all[i].At, all[i].RequestID, 1
	}
	answered = all[2]
	last, first := answered, answered // of the keys that are last and first in an index
	last.ID, first.ID = uuid.New(), uuid.New()
	h.insertAudit(uuid.Max, last)
	h.insertAudit(uuid.Nil, first)
	for _, c := range []struct {
		key   uuid.UUID
		since time.Duration
		limit int
		want  []AuditEntry
		more  bool
	}{
		{key, 0, 10, all, false},
		{key, 0, 3, all, false},
		{key, 0, 2, all[:2], true},
		{key, 23 * time.Hour, 10, all, false},
		{key, 23*time.Hour + 1000, 10, all[:2], false},
		{key, 26 * time.Hour, 10, []AuditEntry{}, false},
		{uuid.Max, 0, 10, []AuditEntry{last}, false},
		{uuid.Nil, 0, 10, []AuditEntry{first}, false},
		{uuid.New(), 0, 10, []AuditEntry{}, false},
	} {
		if got, more := h.audit(c.key, firstDay().Add(c.since), c.limit); !reflect.DeepEqual(got, c.want) || more != c.more {
			t.Errorf("since %s, limit %d: entries = %+v, more = %t, want %+v, %t", c.since, c.limit, got, more, c.want, c.more)
		}
	}
}

// The plan reads only the key's own entries of each day, at most as many as are listed, for busy and rare keys at
// any time of day.
func TestRegistry_AuditPlan(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	busy, rare := uuid.UUID{15: 1}, uuid.UUID{15: 2}
	h.insertAudit(uuid.Nil)
	h.exec(`insert into access.audit
		select
			timestamptz '2026-03-01T00:00:00Z' + make_interval(days => d) + interval '1 second' * case i % 2 when 0 then i else i * 2 end,
			gen_random_uuid(),
			case when i % 2 = 0 then $2::uuid when i % 999 = 0 then $3 else gen_random_uuid() end,
			'listCallLogs', null, 200, null, null, 'r'
		from generate_series(0, $1 - 1) d, generate_series(1, 8000) i`, auditDays, busy, rare)
	h.exec("analyze access.audit")
	for _, key := range []uuid.UUID{busy, rare, uuid.New()} {
		const limit = 100
		plan := h.plan(key, firstDay().Add(time.Hour), limit)
		scans := regexp.MustCompile(`(\S+) Scan.*`).FindAllString(plan, -1)
		if len(scans) != auditDays || slices.ContainsFunc(scans, func(s string) bool { return !strings.Contains(s, "_key_id_at_idx") }) ||
			strings.Contains(plan, "Removed by Filter") {
			t.Errorf("key %s: scans = %d, want one per day by the index of the key:\n%s", key, len(scans), plan)
		}
		for _, rows := range regexp.MustCompile(`Scan.*actual rows=(\d+)`).FindAllStringSubmatch(plan, -1) {
			var n int
			if _, err := fmt.Sscan(rows[1], &n); err != nil || n > limit+2 {
				t.Errorf("key %s: rows of one day = %d, error = %v, want at most %d:\n%s", key, n, err, limit+2, plan)
			}
		}
	}
}

// plan returns the plan of the audit query, as the operator's role.
func (h *harness) plan(key uuid.UUID, since time.Time, limit int) string {
	h.Helper()
	rows, _ := h.registry.pool.Query(context.Background(), "explain (analyze, costs off, timing off, summary off) "+auditKeySQL, key, since, limit)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		h.Fatal(err)
	}
	return strings.Join(lines, "\n")
}
