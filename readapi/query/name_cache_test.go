package query

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func newCache(tb testing.TB, limit int64) *NameCache {
	tb.Helper()
	return NewNameCache(limit, prometheus.NewRegistry())
}

// extensions are the names of some of 100,000 extensions.
func extensions(random *rand.Rand, count int) names {
	n := make(names)
	for range count {
		number := random.IntN(100_000)
		id := numbered(number)
		n[nameKey{family: "extension", id: id}] = newReference(id, strings.Repeat("x", number%60), pgtype.Text{String: "1000", Valid: true})
	}
	return n
}

func numbered(n int) uuid.UUID { return uuid.NewSHA1(uuid.Max, fmt.Append(nil, n)) }

// However many phone systems and extensions pages refer to, the directory's names take no more memory than its limit.
func TestNameCache_Memory(t *testing.T) {
	const limit = 16 << 20
	for _, c := range []struct{ systems, pages, references int }{{10, 1_500, 150}, {1_000, 1_500, 150}, {100_000, 20_000, 1}} {
		random := rand.New(rand.NewPCG(1, 2))
		heap := heapSize()
		d := newCache(t, limit)
		for page := range c.pages {
			d.add(d.entry(numbered(random.IntN(c.systems)), "1"), extensions(random, c.references))
			if got := testutil.ToFloat64(d.metrics.bytes); got > limit {
				t.Fatalf("%d phone systems: bytes after %d pages = %.0f, want at most %d", c.systems, page+1, got, limit)
			}
		}
		if got := testutil.ToFloat64(d.metrics.bytes); got < limit/2 {
			t.Errorf("%d phone systems: bytes = %.0f, want more than half of %d", c.systems, got, limit)
		}
		if got := heapSize() - heap; got > limit*11/10 {
			t.Errorf("%d phone systems: the heap grew by %d bytes, want at most a tenth more than %d", c.systems, got, limit)
		}
		runtime.KeepAlive(d)
	}
}

func heapSize() int64 {
	runtime.GC()
	runtime.GC() // what finalizers kept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A large entry begins again. A page that uses it keeps what it has read.
func TestNameCache_LargeEntry(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	d := newCache(t, DefaultNameMemory)
	for range 300 {
		s := d.entry(numbered(1), "1")
		n := extensions(random, 400)
		d.add(s, n)
		for key, want := range n {
			if got, ok := s.names[key]; !ok || got != want {
				t.Fatalf("name = %q, %t, want %q", got, ok, want)
			}
		}
		if d.bytes > maxEntryBytes || d.bytes < 0 {
			t.Fatalf("bytes = %d, want at most %d", d.bytes, maxEntryBytes)
		}
	}
}

// An entry is of one phone system and one edition. Another edition takes its place.
func TestNameCache_Editions(t *testing.T) {
	t.Parallel()
	d := newCache(t, DefaultNameMemory)
	first, other := d.entry(numbered(1), "1"), d.entry(numbered(2), "1")
	if first == other || d.entry(numbered(1), "1") != first || d.entry(numbered(2), "1") != other {
		t.Error("entries of two phone systems = the same or new ones, want two that stay")
	}
	second := d.entry(numbered(1), "2")
	if second == first || d.entry(numbered(1), "2") != second {
		t.Error("entry of another edition = the same or a new one, want one that stays")
	}
	if got := len(d.entries); got != 2 || d.recent.Len() != 2 || d.bytes != 2*emptyEntryBytes {
		t.Errorf("entries = %d, in order = %d, bytes = %d, want 2, 2, %d", got, d.recent.Len(), d.bytes, 2*emptyEntryBytes)
	}
}

// An entry is used for a minute, however often.
func TestNameCache_EntryLifetime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newCache(t, DefaultNameMemory)
		s := d.entry(numbered(1), "1")
		for range 59 {
			time.Sleep(time.Second)
			if d.entry(numbered(1), "1") != s {
				t.Fatal("entry within a minute = a new one, want the same")
			}
		}
		time.Sleep(time.Second)
		if d.entry(numbered(1), "1") == s {
			t.Error("entry after a minute = the same, want a new one")
		}
		if d.bytes != emptyEntryBytes {
			t.Errorf("bytes = %d, want those of one entry, %d", d.bytes, emptyEntryBytes)
		}
	})
}

// Names that two pages have read at the same time count once.
func TestNameCache_AddedTwice(t *testing.T) {
	t.Parallel()
	d := newCache(t, DefaultNameMemory)
	n := make(names)
	n[nameKey{family: "extension", id: numbered(3)}] = shownName{}
	n[nameKey{family: "category", code: "sale"}] = newLabel("sale", "Sale", pgtype.Float8{})
	s := d.entry(numbered(1), "1")
	d.add(s, n)
	once := d.bytes
	d.add(s, n)
	if want := int64(emptyEntryBytes + 2*entrySize + len(`sale{"code":"sale","label":"Sale"}null`)); once != want || d.bytes != want {
		t.Errorf("bytes = %d, then %d, want %d", once, d.bytes, want)
	}
}
