package events

import (
	"slices"

	"github.com/nats-io/nats.go/jetstream"
)

// CheckStream says, in a sentence each, which settings of a running stream could lose, reorder or misplace events. A stream
// made from [StreamConfig] and a plain mirror of one have none.
func CheckStream(cfg jetstream.StreamConfig) []string {
	var faults []string
	for _, rule := range slices.Concat(keepingRules(cfg), writingRules(cfg), originRules(cfg)) {
		if rule.broken {
			faults = append(faults, rule.sentence)
		}
	}
	if cfg.Mirror == nil {
		if _, err := Partitions(cfg); err != nil {
			faults = append(faults, err.Error()+": readers and the server would not agree on an event's partition.")
		}
	}
	return faults
}

type streamRule struct {
	broken   bool
	sentence string
}

// keepingRules are about what is stored staying stored.
func keepingRules(cfg jetstream.StreamConfig) []streamRule {
	return []streamRule{
		{cfg.MaxAge > 0, "max_age is set: events older than " + cfg.MaxAge.String() + " are lost to every rebuild."},
		{cfg.MaxBytes > 0, "max_bytes is set: a full stream loses old events or refuses new ones."},
		{cfg.MaxMsgs > 0, "max_msgs is set: a full stream loses old events or refuses new ones."},
		{cfg.MaxMsgsPerSubject > 0, "max_msgs_per_subject is set: a subject holds all events of a kind, so most would be lost."},
		{cfg.Retention != jetstream.LimitsPolicy, "retention is not limits: events vanish once they are acknowledged."},
		{cfg.Storage != jetstream.FileStorage, "storage is not file: a restart loses every event."},
		{cfg.PersistMode != jetstream.DefaultPersistMode, "persist_mode is not default: events are acknowledged before they are written."},
		{cfg.Discard != jetstream.DiscardNew, "discard is not new: a full stream drops its oldest events in silence."},
		{!cfg.DenyDelete, "deny_delete is off: a single event can be deleted."},
		{!cfg.DenyPurge, "deny_purge is off: the stream can be emptied."},
		{cfg.AllowRollup, "allow_rollup_hdrs is on: a publisher's header can remove earlier events."},
		{cfg.AllowDirect, "allow_direct is on: a replica that lags can answer that no event waits; projectors refuse the stream."},
		{cfg.AllowMsgTTL, "allow_msg_ttl is on: a publisher's header can make an event expire."},
	}
}

// writingRules are about what is published being stored once. A window of zero stands for the server's default, two minutes.
func writingRules(cfg jetstream.StreamConfig) []streamRule {
	short := cfg.Duplicates > 0 && cfg.Duplicates < DuplicateWindow
	return []streamRule{
		{short, "duplicate_window is " + cfg.Duplicates.String() + ", below " + DuplicateWindow.String() +
			": a publisher's retry can be stored twice."},
		{cfg.NoAck, "no_ack is on: publishers never learn whether an event is stored."},
		{cfg.Sealed, "sealed is on: no event can be stored."},
		{cfg.MaxMsgSize > 0, "max_msg_size is set: publishers measure events against the server's max_payload and would be refused."},
		{cfg.Mirror == nil && !slices.Equal(cfg.Subjects, []string{publishedSubjects}),
			"subjects is not " + publishedSubjects + " alone: events are missed, or strangers stored among them."},
	}
}

// originRules are about where events come from: only a whole mirror has its origin's sequences and times.
func originRules(cfg jetstream.StreamConfig) []streamRule {
	m := cfg.Mirror
	partial := m != nil && (m.FilterSubject != "" || m.OptStartSeq > 1 || m.OptStartTime != nil)
	return []streamRule{
		{len(cfg.Sources) > 0, "sources is set: sourced events get new sequences and no common order; use a mirror."},
		{partial, "the mirror begins late or filters: it does not hold every event."},
		{m != nil && len(m.SubjectTransforms) > 0, "the mirror transforms subjects: events are already stored under their partition's."},
	}
}
