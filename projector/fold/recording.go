package fold

import (
	"callboard/events"
)

func (r Recording) version() int64         { return r.Version }
func (r Recording) owner() events.OwnerRow { return r.OwnerRow }

func (s *State) recordings() facets[RecordingKey, Recording] {
	return facets[RecordingKey, Recording]{&s.Recordings, &s.recordingsOf, s.listRecording}
}

// LoadRecording adds a recording as it stands in the database.
func (s *State) LoadRecording(row Recording) {
	s.Recordings.Load(row.RecordingKey, row)
	s.recordingsOf.own(OwnerRowKey{row.System, row.OwnerRow}, row.RecordingKey)
}

// foldRecording applies an event of a recording.
func (s *State) foldRecording(e events.Event, at events.Time) (Outcome, error) {
	key := RecordingKey{e.System, e.Key}
	return attach(s, s.recordings(), key, e, at, func() Recording { return s.recording(key, e.State.(*events.Recording)) })
}

func (s *State) recording(key RecordingKey, r *events.Recording) Recording {
	row := Recording{
		RecordingKey: key,
		Version:      r.Version,
		OwnerRow:     r.OwnerRow(),
		Status:       r.Status,
		Duration:     r.DurationSeconds,
		CreatedAt:    r.CreatedAt,
	}
	if r.Audio != nil {
		row.AudioKey = events.Some(r.Audio.Key)
		row.AudioContentType = events.Some(r.Audio.ContentType)
		row.AudioBytes = events.Some(r.Audio.Bytes)
	}
	if call, ok := s.CallLogs.Get(Key{key.System, row.OwnerRow.ID}); ok && row.OwnerRow.Entity == events.EntityCall {
		row.CallSid = events.Some(call.CallSid)
	}
	return row
}

// listRecording counts a call's recording, once the call has arrived and as long as the audio can be had.
func (s *State) listRecording(row Recording, by int64) {
	if row.CallSid.Valid && row.Status != events.RecordingUnavailable {
		s.Counts.add(by, byStatus(row.System, ListRecording, row.Status, row.CreatedAt)...)
	}
}

// newestRecording is the one that an owner shows: the newest by (createdAt, recordingSid) that is not unavailable.
func (s *State) newestRecording(owner OwnerRowKey) (newest Recording, ok bool) {
	for _, key := range s.recordingsOf[owner] {
		row, live := s.Recordings.Get(key)
		if !live || row.Status == events.RecordingUnavailable {
			continue
		}
		if !ok || row.CreatedAt > newest.CreatedAt || row.CreatedAt == newest.CreatedAt && row.Sid > newest.Sid {
			newest, ok = row, true
		}
	}
	return newest, ok
}

// showRecordings gives a call's recordings the sid under which they are listed.
func (s *State) showRecordings(call OwnerRowKey, callSid string) {
	for _, key := range s.recordingsOf[call] {
		row, live := s.Recordings.Get(key)
		if !live {
			continue
		}
		s.listRecording(row, -1)
		row.CallSid = events.Some(callSid)
		s.Recordings.Put(key, row)
		s.listRecording(row, +1)
	}
}
