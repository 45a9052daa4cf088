package query

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

//go:embed list_call_recordings.sql
var listCallRecordingsSQL string

// CallRecordings lists the recordings of a system's calls, without those whose audio is unavailable.
func (p *Projection) CallRecordings() *List {
	return p.list("call recordings", listSource{
		list: "recording", rows: listCallRecordingsSQL, selective: []condition{equals(CallSid)}, counted: equals(Status),
	})
}

//go:embed get_call_recording.sql
var getCallRecordingSQL string

// CallRecording is a recording with the columns of the list.
func (p *Projection) CallRecording() *Detail {
	return &Detail{p, "call recording", getCallRecordingSQL, Key.id}
}

// RecordingAudio says where a recording's audio is stored.
type RecordingAudio struct {
	CompleteThrough time.Time // every event that was stored before it is considered
	OfVoicemail     bool
	Ready           bool   // false: the audio is being processed, or the recording has not arrived
	Key             string // in the audio store; empty unless the audio is ready
	ContentType     string // empty unless the audio is ready
}

//go:embed get_call_recording_url.sql
var getCallRecordingURLSQL string

// GetRecordingAudio finds the audio of a call's or a voicemail's recording, which may not be ready. It returns
// [ErrNotFound] if neither a recording nor a voicemail has the sid.
func (p *Projection) GetRecordingAudio(
	ctx context.Context, system uuid.UUID, recordingSid string,
) (RecordingAudio, error) {
	var a RecordingAudio
	err := p.ofSystem(p.runShort(ctx), getCallRecordingURLSQL, system, []any{recordingSid}, func(rows pgx.Rows) error {
		if !rows.Next() {
			return noRow(rows)
		}

		// The phone system exists, but it has no audio with the SID.
		if rows.RawValues()[1] == nil {
			return ErrNotFound
		}
		return rows.Scan(&a.CompleteThrough, &a.OfVoicemail, &a.Ready, &a.Key, &a.ContentType)
	})
	if err != nil {
		return RecordingAudio{}, fmt.Errorf("get recording audio: %w", err)
	}
	return a, nil
}
