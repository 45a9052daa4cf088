package lane_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"callboard/projector/webhook/lane"
)

// model is the database of one lane, and the rules that a lane must keep.
type model struct {
	t           *rapid.T
	lane        *oneLane
	now         time.Time
	concurrency int

	due      map[int64]time.Time // rows
	pending  map[int64]*lane.Outcome
	inFlight []int64
	read     []delivery // by the load under way
	loading  bool

	everFailed bool
	lastStart  int64
	row        []int64 // failures in a row
	open       bool
	window     int
	nextID     int64
}

func (m *model) publish() {
	for range rapid.IntRange(1, 80).Draw(m.t, "published") {
		m.nextID++
		m.due[m.nextID] = start() // equal due times: the ids decide
	}
}

func (m *model) startLoad() {
	load, ok := m.lane.StartLoad()
	if !ok {
		return
	}
	if load.Oldest != m.open {
		m.t.Fatalf("load = %+v, want the oldest: %t", load, m.open)
	}
	m.loading, m.read = true, nil
	for id, due := range m.due {
		if load.Oldest || !due.After(m.now) {
			m.read = append(m.read, delivery{ID: id, Due: due})
		}
	}
	slices.SortFunc(m.read, func(a, b delivery) int {
		if load.Oldest || a.Due.Equal(b.Due) {
			return int(a.ID - b.ID)
		}
		return a.Due.Compare(b.Due)
	})
	m.read = m.read[:min(load.Limit, len(m.read))]
}

func (m *model) endLoad() {
	if m.loading {
		m.lane.Add(m.read...)
		m.loading = false
	}
}

func (m *model) send() {
	d, ok := m.lane.Next(m.now)
	if !ok {
		return
	}
	if _, waits := m.due[d.ID]; !waits || slices.Contains(m.inFlight, d.ID) || m.pending[d.ID] != nil {
		m.t.Fatalf("started = %d, want one that is neither in flight nor delivered nor unrecorded", d.ID)
	}
	if !m.everFailed && d.ID <= m.lastStart {
		m.t.Fatalf("started = %d after %d, want commit order while nothing fails", d.ID, m.lastStart)
	}
	limit := min(m.concurrency, m.window)
	if m.open {
		limit = 1
		for id := range m.due {
			if id < d.ID {
				m.t.Fatalf("probe = %d, want the oldest, %d", d.ID, id)
			}
		}
	}
	m.inFlight, m.lastStart = append(m.inFlight, d.ID), d.ID
	if n := len(m.inFlight) + len(m.pending); n > limit {
		m.t.Fatalf("in flight or unrecorded = %d, want %d at most", n, limit)
	}
}

func (m *model) finish() {
	if len(m.inFlight) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.inFlight)-1).Draw(m.t, "finished")
	id := m.inFlight[i]
	m.inFlight = slices.Delete(m.inFlight, i, i+1)
	outcome := lane.Outcome{Success: rapid.IntRange(0, 2).Draw(m.t, "outcome") == 0}
	m.lane.Done(id, outcome, m.now)
	m.pending[id] = &outcome
	if outcome.Success {
		m.succeeded()
		return
	}
	m.everFailed = true
	if m.open {
		return
	}
	m.row = append(m.row, id)
	distinct := slices.Compact(slices.Sorted(slices.Values(m.row)))
	m.open = len(m.row) >= 5 && len(distinct) >= 3
}

func (m *model) succeeded() {
	m.row = nil
	if m.open {
		m.open, m.window = false, 1
	} else if m.window < m.concurrency {
		m.window++
	}
	if m.window >= m.concurrency {
		m.window = 1 << 20
	}
}

func (m *model) record() {
	for id, outcome := range m.pending {
		if outcome.Success {
			delete(m.due, id)
		} else {
			m.due[id] = m.now.Add(5 * time.Second)
		}
		delete(m.pending, id)
		m.lane.Recorded(id)
	}
}

func (m *model) check() {
	if got := m.lane.State() != lane.Closed; got != m.open {
		m.t.Fatalf("open = %t, want %t", got, m.open)
	}
	if got := m.lane.InFlight(); got != len(m.inFlight) {
		m.t.Fatalf("in flight = %d, want %d", got, len(m.inFlight))
	}
}

// drain lets everything succeed, and requires that nothing stays behind.
func (m *model) drain() {
	for range 1000 + 10*m.nextID {
		m.now = m.now.Add(time.Minute)
		m.endLoad()
		m.record()
		m.startLoad()
		m.endLoad()
		m.send()
		for _, id := range m.inFlight {
			m.lane.Done(id, lane.Outcome{Success: true}, m.now)
			m.pending[id] = &lane.Outcome{Success: true}
			m.succeeded()
		}
		m.inFlight = nil
		if len(m.due) == 0 {
			return
		}
	}
	m.t.Fatalf("waiting = %d, want 0 at the end", len(m.due))
}

func TestLane_KeepsItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		concurrency := rapid.IntRange(1, 10).Draw(t, "concurrency")
		m := &model{
			t: t, lane: lane.New[string](concurrency), now: start(), concurrency: concurrency, window: 1 << 20,
			due: make(map[int64]time.Time), pending: make(map[int64]*lane.Outcome),
		}
		t.Repeat(map[string]func(*rapid.T){
			"publish": func(*rapid.T) { m.publish() }, "start load": func(*rapid.T) { m.startLoad() }, "end load": func(*rapid.T) { m.endLoad() },
			"send": func(*rapid.T) { m.send() }, "finish": func(*rapid.T) { m.finish() }, "record": func(*rapid.T) { m.record() },
			"wait": func(t *rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 90_000).Draw(t, "ms")) * time.Millisecond)
			},
			"": func(*rapid.T) { m.check() },
		})
		m.drain()
	})
}
