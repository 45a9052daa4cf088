package query

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// RecordingAudio is where a recording's audio is.
type RecordingAudio struct {
	CompleteThrough time.Time
	OfVoicemail     bool
	Ready           bool   // else it is still being processed, and there is neither key nor content type
	Key             string // in the store of audio
	ContentType     string
}

//go:embed get_call_recording_url.sql
var getCallRecordingURLSQL string

// GetRecordingAudio finds the audio of a call's or a voicemail's recording. The error is [ErrNotFound] where it is not there.
func (p *Projection) GetRecordingAudio(ctx context.Context, system uuid.UUID, recordingSid string) (RecordingAudio, error) {
	var a RecordingAudio
	err := p.query(ctx, getCallRecordingURLSQL, []any{key(system), recordingSid}, func(rows pgx.Rows) error {
		if !rows.Next() {
			return absent(rows)
		}
		return rows.Scan(&a.CompleteThrough, &a.OfVoicemail, &a.Ready, &a.Key, &a.ContentType)
	})
	if err != nil {
		return RecordingAudio{}, fmt.Errorf("get the audio of a recording: %w", err)
	}
	return a, nil
}
