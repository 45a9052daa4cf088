package store

import (
	_ "embed"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"callboard/projector/fold"
)

// Notice is what a message made fetchable.
type Notice struct {
	Sequence    uint64 // of the message
	StoredAt    time.Time
	TraceParent string // of the message; empty: none
	fold.Notice
}

//go:embed insert_notices.sql
var insertNoticesSQL string

// queueNotices queues the insertion of the notices above the partition's floor: notices up to it were written before.
// fresh is set to the inserted ones when the pipeline is sent.
func queueNotices(pipeline *pgx.Batch, c ChangeSet, fresh *[]Notice) {
	if len(c.Notices) == 0 {
		return
	}
	arguments := append([]any{c.From.Stream, c.From.Partition, int64(c.To.Sequence)}, noticeArrays(c.Notices)...)
	pipeline.Queue(insertNoticesSQL, arguments...).QueryRow(func(row pgx.Row) error {
		var floor uint64
		err := row.Scan(&floor)
		*fresh = slices.DeleteFunc(slices.Clone(c.Notices), func(n Notice) bool { return n.Sequence <= floor })
		return err
	})
}

// noticeArrays are the parameters of insert_notices.sql from the sequences on.
func noticeArrays(notices []Notice) []any {
	n := len(notices)
	sequences, ordinals, at := make([]int64, n), make([]int16, n), make([]time.Time, n)
	ids, kinds, sids := make([]string, n), make([]string, n), make([]string, n)
	systems, calls, voicemails := make([]uuid.UUID, n), make([]uuid.NullUUID, n), make([]uuid.NullUUID, n)
	recordings, traces := make([]pgtype.Text, n), make([]pgtype.Text, n)

	for i, notice := range notices {
		// The notices of one message are numbered in their order.
		if i > 0 && notice.Sequence == notices[i-1].Sequence {
			ordinals[i] = ordinals[i-1] + 1
		}

		data := notice.Data
		sequences[i], at[i], traces[i] = int64(notice.Sequence), notice.StoredAt, textOrNull(notice.TraceParent)
		ids[i], kinds[i], sids[i], systems[i] = notice.EventID(), string(notice.Kind), data.CallSid, data.PhoneSystemID
		recordings[i], calls[i], voicemails[i] = textOrNull(data.RecordingSid), uuidOrNull(data.CallLogID), uuidOrNull(data.VoicemailID)
	}

	return []any{sequences, ordinals, ids, kinds, systems, sids, recordings, calls, voicemails, at, traces}
}

func textOrNull(text string) pgtype.Text { return pgtype.Text{String: text, Valid: text != ""} }

func uuidOrNull(id uuid.UUID) uuid.NullUUID { return uuid.NullUUID{UUID: id, Valid: id != uuid.Nil} }
