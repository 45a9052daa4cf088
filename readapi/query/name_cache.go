package query

import (
	"container/list"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

const (
	// maxEntryBytes is how large an entry can be, in bytes. A larger entry begins again, so that names that pages refer
	// to no more make room.
	maxEntryBytes = 8 << 20
	// emptyEntryBytes is what an entry without names takes: its map.
	emptyEntryBytes = 4 << 10
	// entryLifetime is the longest time for which an entry is used. It bounds how long a name that was edited by hand
	// is shown.
	entryLifetime = time.Minute
)

// NameCache keeps the names and labels that pages have referred to, by phone system, for one edition of its directory.
// It is safe for concurrent use.
type NameCache struct {
	limit   int64
	metrics nameCacheMetrics

	mu      sync.Mutex
	entries map[uuid.UUID]*cacheEntry // by phone system
	recent  list.List                 // of *cacheEntry, the most recently used first
	bytes   int64                     // of all entries
}

// cacheEntry is what is known of a directory's edition. Pages go on using an entry that the NameCache has removed.
type cacheEntry struct {
	system  uuid.UUID
	edition edition
	since   time.Time

	mu    sync.RWMutex // guards what follows
	names names

	element *list.Element // guarded by the NameCache; nil: removed
	bytes   int64         // guarded by the NameCache
}

// DefaultNameMemory is the usual limit of a NameCache.
const DefaultNameMemory = 64 << 20

// NewNameCache returns an empty NameCache with a limit in bytes, and registers its metrics.
func NewNameCache(limit int64, registerer prometheus.Registerer) *NameCache {
	return &NameCache{
		limit: limit, entries: make(map[uuid.UUID]*cacheEntry), metrics: newNameCacheMetrics(registerer),
	}
}

// entry returns the entry of an edition, in place of the phone system's entry of another edition.
func (d *NameCache) entry(system uuid.UUID, e edition) *cacheEntry {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.entries[system]; s != nil {
		if s.edition == e && time.Since(s.since) < entryLifetime {
			d.recent.MoveToFront(s.element)
			return s
		}
		d.remove(s)
	}

	s := &cacheEntry{system: system, edition: e, since: time.Now(), names: make(names)}
	d.entries[system] = s
	s.element = d.recent.PushFront(s)
	d.grow(s, emptyEntryBytes)
	return s
}

// add adds names to an entry.
func (d *NameCache) add(s *cacheEntry, n names) {
	s.mu.Lock()
	size := s.names.add(n)
	s.mu.Unlock()

	// No goroutine holds both locks.
	d.mu.Lock()
	defer d.mu.Unlock()

	// An entry that was removed meanwhile is not counted.
	if s.element != nil {
		d.grow(s, size)
	}
}

// grow counts bytes, and removes entries above the limits.
func (d *NameCache) grow(s *cacheEntry, size int64) {
	s.bytes += size
	d.bytes += size
	if s.bytes > maxEntryBytes {
		d.remove(s)
	}
	for d.bytes > d.limit {
		d.remove(d.recent.Back().Value.(*cacheEntry))
	}
	d.metrics.bytes.Set(float64(d.bytes))
}

// remove leaves the entry to the pages that use it.
func (d *NameCache) remove(s *cacheEntry) {
	d.bytes -= s.bytes
	d.recent.Remove(s.element)
	s.element = nil
	delete(d.entries, s.system)
}

// nameCacheMetrics count report pages by how their names were found.
type nameCacheMetrics struct {
	hits, misses, reruns prometheus.Counter
	bytes                prometheus.Gauge
}

func newNameCacheMetrics(registerer prometheus.Registerer) nameCacheMetrics {
	factory := promauto.With(registerer)
	pages := factory.NewCounterVec(prometheus.CounterOpts{
		Name: "callboard_readapi_directory_pages_total",
		Help: "Report pages by whether the reader knew all their names (hit) or read some (miss).",
	}, []string{"result"})

	return nameCacheMetrics{
		hits: pages.WithLabelValues("hit"), misses: pages.WithLabelValues("miss"),

		reruns: factory.NewCounter(prometheus.CounterOpts{
			Name: "callboard_readapi_directory_reruns_total",
			Help: "Statements of report pages that ran again because names changed before they were read.",
		}),

		bytes: factory.NewGauge(prometheus.GaugeOpts{
			Name: "callboard_readapi_directory_bytes", Help: "Bytes of names and labels that the reader keeps.",
		}),
	}
}
