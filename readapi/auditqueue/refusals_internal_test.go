package auditqueue

import (
	"fmt"
	"net/netip"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
)

// outcome is what the requests of an entry have in common in every case.
type outcome struct {
	key    uuid.UUID
	status int
}

// model counts the requests that were refused and those of the entries that were written.
type model struct {
	refusals refusals
	now      time.Time
	sent     int
	room     int // entries that can be written
	refused  map[outcome]int64
	written  map[outcome]int64
	last     map[uuid.UUID]time.Time // the last request of each key
	lastSeen map[uuid.UUID]time.Time // the last one in an entry
	rows     map[uuid.UUID]int       // entries of each key
}

func newModel(capacity int) *model {
	return &model{
		refusals: newRefusals(capacity), now: time.Unix(1_700_000_000, 0).UTC(),
		refused: make(map[outcome]int64), written: make(map[outcome]int64),
		last: make(map[uuid.UUID]time.Time), lastSeen: make(map[uuid.UUID]time.Time), rows: make(map[uuid.UUID]int),
	}
}

// refuse refuses a request of a key that arrived before now, as concurrent requests end in any order.
func (m *model) refuse(key, kind, address byte, ago time.Duration) {
	status := []int{401, 403, 429, 503}[kind%4]
	e := events.AuditEntry{
		ID: uuid.New(), At: m.now.Add(-ago), KeyID: uuid.UUID{15: key}, Operation: fmt.Sprintf("operation%d", kind), Status: status,
		Code: strconv.Itoa(status), Address: netip.AddrFrom4([4]byte{192, 0, 2, address}), RequestID: strconv.Itoa(m.sent),
	}
	m.sent++
	m.refused[outcome{e.KeyID, status}]++
	if e.At.After(m.last[e.KeyID]) {
		m.last[e.KeyID] = e.At
	}
	m.refusals.add(e.KeyID, e, m.now, m.write)
}

func (m *model) write(_ uuid.UUID, e events.AuditEntry) bool {
	if m.room == 0 {
		return false
	}
	m.room--
	m.rows[e.KeyID]++
	m.written[outcome{e.KeyID, e.Status}] += e.Requests()
	last := e.LastAt
	if last.IsZero() {
		last = e.At
	}
	if last.After(m.lastSeen[e.KeyID]) {
		m.lastSeen[e.KeyID] = last
	}
	return true
}

// The counts of all entries add up to the requests, and the last request of each key is in one, for random
// sequences of requests, times and rooms.
func TestRefusals_SumOfCountsEqualsTheRequests(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(rapid.IntRange(0, 60).Draw(t, "capacity"))
		t.Repeat(map[string]func(*rapid.T){
			"requests": func(t *rapid.T) {
				key, kinds, addresses := rapid.ByteRange(0, 3).Draw(t, "key"), rapid.ByteRange(1, 12).Draw(t, "kinds"), rapid.ByteRange(1, 12).Draw(t, "addresses")
				for i := range rapid.IntRange(1, 300).Draw(t, "requests") {
					m.refuse(key, byte(i)%kinds, byte(i/7)%addresses, time.Duration(i*i%50)*time.Millisecond)
				}
			},
			"time": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(0, 25_000).Draw(t, "ms")) * time.Millisecond)
				m.refusals.flushDue(m.now, m.write)
			},
			"room": func(t *rapid.T) { m.room = rapid.IntRange(0, 200).Draw(t, "room") },
			"": func(t *rapid.T) {
				for _, k := range m.refusals.keys {
					if k.separate > maxGroups || len(k.groups) > maxGroups+4 {
						t.Fatalf("groups of a key = %d, %d of them separate, want %d and 4 rests at most", len(k.groups), k.separate, maxGroups)
					}
				}
				if m.refusals.groups > m.refusals.capacity {
					t.Fatalf("groups = %d, want %d at most", m.refusals.groups, m.refusals.capacity)
				}
			},
		})
		m.room = m.sent
		m.refusals.flushAll(m.write)
		if got, want := fmt.Sprint(m.written), fmt.Sprint(m.refused); got != want {
			t.Fatalf("requests in entries = %v, want %v", got, want)
		}
		if got, want := fmt.Sprint(m.lastSeen), fmt.Sprint(m.last); got != want {
			t.Fatalf("last requests = %v, want %v", got, want)
		}
	})
}

// A flood of equal requests is one entry at once and then one every 10 seconds: less than 10,000 a day.
func TestRefusals_Flood(t *testing.T) {
	t.Parallel()
	m := newModel(100)
	m.room = 1 << 30
	for range 60 * 100 {
		m.refuse(1, 0, 1, 0)
		m.now = m.now.Add(10 * time.Millisecond)
		m.refusals.flushDue(m.now, m.write)
	}
	if got := m.rows[uuid.UUID{15: 1}]; got != 7 {
		t.Errorf("entries of a minute = %d, want 7", got)
	}
	m.now = m.now.Add(2 * countTime)
	m.refusals.flushDue(m.now, m.write)
	m.now = m.now.Add(countTime)
	m.refusals.flushDue(m.now, m.write)
	if got := len(m.refusals.keys) + len(m.refusals.due) + m.refusals.groups; got != 0 {
		t.Errorf("keys and groups after a rest = %d, want 0", got)
	}
}

// A key that sends from many addresses has 32 groups. Its other requests are one entry, with the number of
// addresses and the last one.
func TestRefusals_ManyAddresses(t *testing.T) {
	t.Parallel()
	m := newModel(100)
	for i := range 200 {
		m.refuse(1, 0, byte(i), 0)
		m.now = m.now.Add(time.Millisecond)
	}
	var entries []events.AuditEntry
	m.refusals.flushDue(m.now.Add(countTime), func(_ uuid.UUID, e events.AuditEntry) bool {
		entries = append(entries, e)
		return true
	})
	if len(entries) != maxGroups+1 {
		t.Fatalf("entries = %d, want %d", len(entries), maxGroups+1)
	}
	for _, e := range entries {
		switch {
		case e.Operation != "" && e.Requests() == 1 && e.Addresses == 0:
		case e.Operation == "" && e.Count == 168 && e.Addresses == 168 && e.Address == netip.MustParseAddr("192.0.2.199") &&
			e.RequestID == "32" && e.LastRequestID == "199" && e.LastAt.Sub(e.At) == 167*time.Millisecond:
		default:
			t.Errorf("entry = %+v, want a group of one request, or the other 168", e)
		}
	}
}
