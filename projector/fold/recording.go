package fold

import "callboard/events"

func (r Recording) owner() OwnerRowKey { return OwnerRowKey{r.System, r.OwnerRow} }

func (s *State) recordings() facetTable[RecordingKey, Recording] {
	return newFacetTable(&s.Recordings, &s.recordingsOf, s.countRecording)
}

func recordingKeyOf(id events.Identity) RecordingKey { return RecordingKey{id.System, id.Key} }

func (s *State) needRecording(e events.Event) {
	s.Recordings.need(recordingKeyOf(e.Identity))
	if r, ok := e.State.(*events.Recording); ok {
		s.needOwnerRow(OwnerRowKey{e.System, r.OwnerRow()})
	}
}

func (s *State) applyRecording(e events.Event, at events.Time) (Outcome, error) {
	key := recordingKeyOf(e.Identity)
	return applyFacet(s, s.recordings(), key, e, at,
		func() Recording { return s.recording(key, e.State.(*events.Recording)) })
}

func (s *State) recording(key RecordingKey, r *events.Recording) Recording {
	row := Recording{
		RecordingKey: key,
		Versioned:    Versioned{r.Version},
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

	// If the call arrives later, its event sets the SID.
	if call, ok := s.CallLogs.Get(Key{key.System, row.OwnerRow.ID}); ok && row.OwnerRow.Entity == events.EntityCall {
		row.CallSid = events.Some(call.CallSid)
	}

	return row
}

// countRecording changes the counters of a recording whose call has arrived and whose audio is not unavailable.
func (s *State) countRecording(row Recording, by int64) {
	if row.CallSid.Valid && row.Status != events.RecordingUnavailable {
		s.Counts.add(by, statusCountKeys(row.System, ListRecording, row.Status, row.CreatedAt)...)
	}
}

// newestRecording returns the recording that a call shows: the newest by (createdAt, recordingSid) that is not
// unavailable.
func (s *State) newestRecording(owner OwnerRowKey) (newest Recording, ok bool) {
	for _, row := range s.recordings().of(owner) {
		if row.Status == events.RecordingUnavailable {
			continue
		}
		if !ok || row.CreatedAt > newest.CreatedAt || row.CreatedAt == newest.CreatedAt && row.Sid > newest.Sid {
			newest, ok = row, true
		}
	}
	return newest, ok
}

// setCallSid sets the sid by which the recordings of a call are found, and counts them.
func (s *State) setCallSid(call OwnerRowKey, sid string) {
	for key, row := range s.recordings().of(call) {
		s.countRecording(row, -1)
		row.CallSid = events.Some(sid)
		s.Recordings.Put(key, row)
		s.countRecording(row, +1)
	}
}
