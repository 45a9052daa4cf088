package projector

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"callboard/projector/fold"
	"callboard/projector/store"
)

type metrics struct {
	events      *prometheus.CounterVec   // entity, outcome
	deadLetters *prometheus.CounterVec   // partition
	commits     *prometheus.HistogramVec // partition; seconds
	position    *prometheus.GaugeVec     // partition; stream sequence
	pending     *prometheus.GaugeVec     // partition; messages
	watermark   *prometheus.GaugeVec     // partition; Unix seconds
	clockAhead  *prometheus.GaugeVec     // partition; seconds
	owned       *prometheus.GaugeVec     // partition; 0 or 1
	stopped     *prometheus.GaugeVec     // partition, reason; 1
	notices     *prometheus.CounterVec   // kind

	capped    prometheus.Counter
	feedBytes prometheus.Gauge
	journal   prometheus.Gauge // 0 or 1

	firstSequence prometheus.Gauge // of the stream; 0 until it has been read

	// Of the database. They have no value until it has been read: after a restart, a 0 would look as if all dead
	// letters were new.
	openDeadLetters *prometheus.GaugeVec // no labels
	generation      *prometheus.GaugeVec // no labels
}

func newMetrics(registry prometheus.Registerer) *metrics {
	const prefix = "callboard_projector_"
	factory := promauto.With(registry)
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return factory.NewGaugeVec(prometheus.GaugeOpts{Name: prefix + name, Help: help}, labels)
	}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return factory.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}

	return &metrics{
		events:      counter("events_total", "Events committed, by entity and outcome.", "entity", "outcome"),
		deadLetters: counter("dead_letters_total", "Messages that could not be applied.", "partition"),
		commits: factory.NewHistogramVec(prometheus.HistogramOpts{
			Name: prefix + "commit_seconds", Help: "Time to apply a batch, from fetching claim checks to the last commit.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 14),
		}, []string{"partition"}),

		position: gauge("position", "Stream sequence up to which the messages of the partition are in the tables.",
			"partition"),
		pending: gauge("pending", "Messages of the partition above the position.", "partition"),
		watermark: gauge("watermark_seconds",
			"Unix time before which every stored event of the partition is in the tables.", "partition"),
		clockAhead: gauge("clock_ahead_seconds",
			"How far the stream's time of the partition's newest message, or of the stream while it is idle, "+
				"is ahead of this host's; negative: behind.",
			"partition"),

		owned:   gauge("owned", "1 if this projector owns the partition, else 0.", "partition"),
		notices: counter("notices_total", "Webhook notices written, by kind.", "kind"),
		stopped: gauge("stopped", "1 if the partition is stopped until an operator acts.", "partition", "reason"),

		capped: counter("clock_capped_total",
			"Messages that count as stored at this host's time, because the stream's was more than a minute "+
				"ahead.").WithLabelValues(),
		feedBytes: gauge("feed_bytes", "Bytes of messages in memory that are not committed.").WithLabelValues(),
		journal: gauge("keys_journal_readable",
			"1 if the stream KEYS could be read and its key revocations and expiries were applied when the projector tried "+
				"last, else 0.").WithLabelValues(),
		firstSequence: gauge("stream_first_sequence",
			"Sequence of the first message that the stream still has.").WithLabelValues(),

		openDeadLetters: gauge("dead_letters_open", "Dead letters that are neither applied nor dropped."),
		generation: factory.NewGaugeVec(prometheus.GaugeOpts{
			Name: "callboard_generation", Help: "Number of the generation of the projection that is live.",
		}, nil),
	}
}

func (m *metrics) started(partition int) { m.owned.WithLabelValues(label(partition)).Set(1) }

// resumed removes the reason why the partition was stopped. A stopped partition is started again and again, so a start
// alone says nothing: either its position is claimed here, or another projector owns it.
func (m *metrics) resumed(partition int) {
	m.stopped.DeletePartialMatch(prometheus.Labels{"partition": label(partition)})
}

// exited removes the values that only the partition's owner knows.
func (m *metrics) exited(partition int) {
	m.owned.WithLabelValues(label(partition)).Set(0)
	m.position.DeleteLabelValues(label(partition))
	m.pending.DeleteLabelValues(label(partition))
	m.watermark.DeleteLabelValues(label(partition))
	m.clockAhead.DeleteLabelValues(label(partition))
}

func (m *metrics) moved(p store.Position) {
	m.position.WithLabelValues(label(int(p.Partition))).Set(float64(p.Sequence))
	m.watermark.WithLabelValues(label(int(p.Partition))).Set(float64(p.Clock.Watermark) / 1000)
}

// storedAhead reports the time that the stream says, at an instant of this host's clock.
func (m *metrics) storedAhead(partition int, stored, now time.Time) {
	m.clockAhead.WithLabelValues(label(partition)).Set(stored.Sub(now).Seconds())
}

// count adds message counts, without dead letters, which have their own counter.
func (m *metrics) count(c store.MessageCounts) {
	for entity, n := range c {
		for outcome, count := range map[fold.Outcome]int64{
			fold.Applied: n.Applied, fold.Stale: n.Stale - n.Conflicting, fold.Conflicting: n.Conflicting,
			fold.Ignored: n.Ignored,
		} {
			if count > 0 {
				m.events.WithLabelValues(string(entity), outcome.String()).Add(float64(count))
			}
		}
	}
}

// journalRead reports whether the journal of key revocations and expiries could be read.
func (m *metrics) journalRead(succeeded bool) {
	if succeeded {
		m.journal.Set(1)
	} else {
		m.journal.Set(0)
	}
}

func label(partition int) string { return strconv.Itoa(partition) }
