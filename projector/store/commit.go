package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"callboard/events"
	"callboard/projector/fold"
)

// DeadLetter is a message that can't be applied, whole.
type DeadLetter struct {
	Sequence uint64
	Subject  string
	Header   []byte // as on the wire
	Data     []byte
	Reason   string
	StoredAt time.Time
}

// Commit is what a batch leaves behind.
type ChangeSet struct {
	From, To         Position
	State            *fold.State
	MessageCounts    MessageCounts
	DeadLetters      []DeadLetter
	ClockAdjustments []fold.ClockAdjustment
	Resolutions      []Resolution
}

// Resolution is what became of a dead letter that was tried again.
type Resolution struct {
	Sequence uint64
	StoredAt time.Time
	Subject  string
	RetrySeq int64
	Outcome  fold.Outcome // 0: it still is one
	Reason   string       // why
	Clock    events.Time
}

// InVain are the dead letters that were tried again and still are dead.
func (c ChangeSet) FailedRetries() []DeadLetter {
	var list []DeadLetter
	for _, r := range c.Resolutions {
		if r.Outcome == 0 {
			list = append(list, DeadLetter{Sequence: r.Sequence, Subject: r.Subject, Reason: r.Reason})
		}
	}
	return list
}

var (
	//go:embed lost_letter.sql
	lostLetterSQL string

	//go:embed dead_letter.sql
	deadLetterSQL string

	//go:embed clock_adjustment.sql
	clockAdjustmentSQL string

	//go:embed resolve.sql
	resolveSQL string

	//go:embed still_dead.sql
	stillDeadSQL string
)

// Commit writes rows, counters, dead letters and what became of them, clock adjustments and position; all stand once the batch's transaction ends.
// The error is [ErrFenced] where the position isn't the commit's From.
func (tx *Tx) Write(ctx context.Context, c ChangeSet) error {
	if err := tx.advance(ctx, c.From, c.To); err != nil {
		return err
	}
	w := new(writing)
	w.rows(c.State)
	tally(w, c.State.Counts, dayCountSQL, forgetDaysSQL, countKeys)
	tally(w, c.State.References, referenceCountSQL, forgetReferencesSQL, referenceKeys)
	w.messageCounts(c.From.Partition, c.MessageCounts)
	w.deadLetters(c)
	w.adjustments(c)
	w.resolutions(c)
	if w.batch.Len() == 0 {
		return nil
	}
	if err := tx.tx.SendBatch(ctx, &w.batch).Close(); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// writing is a pipeline of statements.
type writing struct {
	batch pgx.Batch
}

func (w *writing) rows(s *fold.State) {
	write(w, phoneSystems(), &s.PhoneSystems, func(k fold.Key) fold.PhoneSystem { return fold.PhoneSystem{ID: k.ID} })
	write(w, groups(), &s.Groups, func(k fold.Key) fold.Group { return fold.Group{ID: k.ID} })
	write(w, extensions(), &s.Extensions, func(k fold.Key) fold.Extension { return fold.Extension{Key: k} })
	write(w, phones(), &s.Phones, func(k fold.Key) fold.Phone { return fold.Phone{Key: k} })
	write(w, phoneNumbers(), &s.PhoneNumbers, func(k fold.Key) fold.PhoneNumber { return fold.PhoneNumber{Key: k} })
	write(w, agentConfigs(), &s.AgentConfigs, func(k fold.Key) fold.AgentConfig { return fold.AgentConfig{Key: k} })
	write(w, callMenus(), &s.CallMenus, func(k fold.Key) fold.CallMenu { return fold.CallMenu{Key: k} })
	write(w, representatives(), &s.Representatives, func(k fold.Key) fold.Representative { return fold.Representative{Key: k} })
	write(w, classifications(), &s.Classifications, func(k fold.ClassificationKey) fold.Classification {
		return fold.Classification{ClassificationKey: k}
	})
	write(w, callGroups(), &s.CallGroups, func(k fold.Key) fold.CallGroup { return fold.CallGroup{Key: k} })
	write(w, callLogs(), &s.CallLogs, func(k fold.Key) fold.CallLog { return fold.CallLog{Key: k} })
	write(w, extensionCalls(), &s.ExtensionCalls, func(k fold.ExtensionEntry) fold.ExtensionEntry { return k })
	write(w, transcripts(), &s.Transcripts, func(k fold.OwnerRowKey) fold.Transcript { return fold.Transcript{OwnerRowKey: k} })
	write(w, transcriptTexts(), &s.TranscriptTexts, func(k fold.OwnerRowKey) fold.TranscriptText { return fold.TranscriptText{OwnerRowKey: k} })
	write(w, recordings(), &s.Recordings, func(k fold.RecordingKey) fold.Recording { return fold.Recording{RecordingKey: k} })
	write(w, analyses(), &s.Analyses, func(k fold.Key) fold.Analysis { return fold.Analysis{Key: k} })
	write(w, extensionAnalyses(), &s.ExtensionAnalyses, func(k fold.ExtensionEntry) fold.ExtensionEntry { return k })
	write(w, voicemails(), &s.Voicemails, func(k fold.Key) fold.Voicemail { return fold.Voicemail{Key: k} })
	write(w, tombstones(), &s.Tombstones, func(k fold.TombstoneKey) fold.Tombstone { return fold.Tombstone{TombstoneKey: k} })
}

// write queues a table's changes; keyed makes a row that holds only its key.
func write[K, R comparable](w *writing, t table[R], changed *fold.Table[K, R], keyed func(K) R) {
	upserts, deletes := changed.Changes()
	if len(deletes) > 0 {
		rows := make([]R, len(deletes))
		for i, key := range deletes {
			rows[i] = keyed(key)
		}
		w.batch.Queue(t.remove(), t.bind(t.columns[:t.key], rows)...)
	}
	if len(upserts) > 0 {
		w.batch.Queue(t.upsert(), t.bind(t.columns, upserts)...)
	}
}

func (w *writing) deadLetters(c ChangeSet) {
	stream, letters := c.From.Stream, c.DeadLetters
	for _, letter := range letters {
		for _, statement := range []string{lostLetterSQL, deadLetterSQL} {
			w.batch.Queue(statement, stream.Name, stream.Created, int64(letter.Sequence), c.From.Partition,
				letter.Subject, letter.Header, letter.Data, letter.Reason, letter.StoredAt)
		}
	}
}

func (w *writing) adjustments(c ChangeSet) {
	stream := c.From.Stream
	for _, adjustment := range c.ClockAdjustments {
		w.batch.Queue(clockAdjustmentSQL, stream.Name, stream.Created, c.From.Partition, int64(adjustment.Sequence), timestamp(adjustment.Time))
	}
}

func (w *writing) resolutions(c ChangeSet) {
	stream := c.From.Stream
	for _, r := range c.Resolutions {
		if r.Outcome == 0 {
			w.batch.Queue(stillDeadSQL, stream.Name, stream.Created, int64(r.Sequence), r.Reason, r.StoredAt)
			continue
		}
		w.batch.Queue(resolveSQL, stream.Name, stream.Created, int64(r.Sequence), r.Outcome.String(),
			int64(c.To.Sequence), timestamp(r.Clock), r.RetrySeq, r.StoredAt)
	}
}
