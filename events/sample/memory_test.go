package sample

import (
	"runtime"
	"testing"
)

// live is the most memory in use while a history is read.
func liveHeap(calls int) uint64 {
	c := New(Config{Seed: 1, Calls: calls})
	var most uint64
	n := 0
	for range c.History() {
		if n++; n%(calls/8) == 0 {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapAlloc)
		}
	}
	return most
}

func TestHistory_Memory(t *testing.T) {
	few, many := liveHeap(20_000), liveHeap(200_000)
	t.Logf("%d kB for 20,000 calls, %d kB for 200,000", few>>10, many>>10)
	if many > few+few/2 {
		t.Errorf("200,000 calls need %d kB, 20,000 need %d kB", many>>10, few>>10)
	}
}
