package projector

import (
	"callboard/events/webhook"
	"callboard/projector/fold"
	"callboard/projector/store"
)

// maxLoggedConflicts limits the lines about one batch. All conflicts are counted.
const maxLoggedConflicts = 10

// committed reports a change set that was committed.
func (w *worker) committed(changes store.ChangeSet) {
	w.moved(w.applier.Position)
	w.projector.metrics.count(changes.MessageCounts)
	w.wakeSenders(changes.Notices)

	for _, a := range changes.ClockAdjustments {
		if a.Capped {
			w.reportCap(a)
		}
	}

	for _, dead := range changes.DeadLetters {
		w.projector.metrics.deadLetters.WithLabelValues(label(w.partition)).Inc()
		w.log.Warn().Uint64("sequence", dead.Sequence).Str("reason", dead.Reason).Msg("dead letter recorded")
	}

	for _, c := range changes.Conflicts[:min(len(changes.Conflicts), maxLoggedConflicts)] {
		w.log.Warn().Uint64("sequence", c.Sequence).Str("entity", string(c.Entity)).Str("source", c.Source).Str("event",
			c.ID).
			Msg("event has the version of an applied event and other content: it changed nothing")
	}

	for _, r := range changes.Retries {
		w.log.Info().Uint64("sequence", r.Sequence).Uint64("dead_letter", r.DeadLetter.Sequence).Stringer("outcome",
			r.Outcome).
			Str("reason", r.Reason).Msg("dead letter retried")
	}
}

// reportCap reports messages that count as stored earlier than the stream says.
func (w *worker) reportCap(c fold.ClockAdjustment) {
	w.projector.metrics.capped.Add(float64(c.Messages))
	w.log.Warn().Uint64("first", c.First).Uint64("last", c.Last).Int("messages", c.Messages).
		Time("stored_at", c.LastStoredAt.Std()).Time("capped_at", c.Time.Std()).
		Msg("the stream's clock is ahead: messages capped")
}

// wakeSenders tells the webhook senders that there are notices. A lost message costs little: senders look by
// themselves, too.
func (w *worker) wakeSenders(notices []store.Notice) {
	if len(notices) == 0 {
		return
	}
	for _, n := range notices {
		w.projector.metrics.notices.WithLabelValues(string(n.Kind)).Inc()
	}
	if err := w.projector.config.JetStream.Conn().Publish(webhook.WakeSubject, nil); err != nil {
		w.log.Debug().Err(err).Msg("waking webhook senders failed")
	}
}
