package fold

import (
	"slices"

	"callboard/events"
)

// foldRecording applies an event of a recording.
func (s *State) foldRecording(e events.Event, at events.Time) (Outcome, error) {
	key := RecordingKey{e.System, e.Key}
	row, live := s.Recordings.Get(key)
	tomb := s.tombstone(e.Identity)
	if e.Version <= max(row.Version, tomb.Version) {
		return Stale, nil
	}
	known := tomb.Owner
	if live {
		known = row.Owner
	}
	if e.Deleted() {
		s.Recordings.Delete(key)
		s.bury(e.Identity, known)
		s.settleOwner(OwnerKey{e.System, known}, at)
		return Applied, nil
	}
	next := recording(key, e.State.(*events.Recording))
	if known.Entity != "" && known != next.Owner {
		return 0, errOwnerChanged
	}
	owner := OwnerKey{e.System, next.Owner}
	if s.finalOwner(owner) {
		s.bury(e.Identity, next.Owner)
		return Ignored, nil
	}
	s.unbury(e.Identity)
	if call, ok := s.CallLogs.Get(Key{e.System, next.Owner.ID}); ok && next.Owner.Entity == events.EntityCall {
		next.CallSid = events.Some(call.CallSid)
	}
	s.own(owner, key)
	s.Recordings.Put(key, next)
	s.settleOwner(owner, at)
	return Applied, nil
}

func recording(key RecordingKey, r *events.Recording) Recording {
	row := Recording{
		RecordingKey: key,
		Version:      r.Version,
		Owner:        r.Owner(),
		Status:       r.Status,
		Duration:     r.DurationSeconds,
		CreatedAt:    r.CreatedAt,
	}
	if r.Audio != nil {
		row.AudioKey = events.Some(r.Audio.Key)
		row.AudioContentType = events.Some(r.Audio.ContentType)
		row.AudioBytes = events.Some(r.Audio.Bytes)
	}
	return row
}

// newestRecording is the one that an owner shows: the newest by (createdAt, recordingSid) that is not unavailable.
func (s *State) newestRecording(owner OwnerKey) (newest Recording, ok bool) {
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
func (s *State) showRecordings(call Key, callSid string) {
	owner := OwnerKey{call.System, events.Owner{Entity: events.EntityCall, ID: call.ID}}
	for _, key := range s.recordingsOf[owner] {
		if row, live := s.Recordings.Get(key); live {
			row.CallSid = events.Some(callSid)
			s.Recordings.Put(key, row)
		}
	}
}

// own notes that a recording hangs on an owner.
func (s *State) own(owner OwnerKey, key RecordingKey) {
	if s.recordingsOf == nil {
		s.recordingsOf = make(map[OwnerKey][]RecordingKey)
	}
	if !slices.Contains(s.recordingsOf[owner], key) {
		s.recordingsOf[owner] = append(s.recordingsOf[owner], key)
	}
}

// endFacets removes what hangs on an owner. The tombstones keep what it hung on: that never changes.
func (s *State) endFacets(owner OwnerKey) {
	if transcript, ok := s.Transcripts.Get(owner); ok {
		s.Transcripts.Delete(owner)
		if transcript.Digest.Valid {
			s.TranscriptTexts.Delete(owner)
		}
	}
	for _, key := range s.recordingsOf[owner] {
		row, live := s.Recordings.Get(key)
		if !live {
			continue
		}
		s.Recordings.Delete(key)
		s.bury(events.Identity{Entity: events.EntityRecording, System: key.System, Key: key.Sid, Version: row.Version}, row.Owner)
	}
}
