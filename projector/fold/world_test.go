package fold_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
)

// world is the projection in memory: what a database would hold between batches.
type world struct {
	phoneSystems    map[fold.Key]fold.PhoneSystem
	groups          map[fold.Key]fold.Group
	extensions      map[fold.Key]fold.Extension
	callGroups      map[fold.Key]fold.CallGroup
	callLogs        map[fold.Key]fold.CallLog
	extensionCalls  map[fold.ExtensionCall]fold.ExtensionCall
	transcripts     map[fold.OwnerKey]fold.Transcript
	transcriptTexts map[fold.OwnerKey]fold.TranscriptText
	recordings      map[fold.RecordingKey]fold.Recording
	tombstones      map[fold.TombstoneKey]fold.Tombstone
	counts          map[fold.CountKey]int64
	dead            int
}

func newWorld() *world {
	return &world{
		phoneSystems:    map[fold.Key]fold.PhoneSystem{},
		groups:          map[fold.Key]fold.Group{},
		extensions:      map[fold.Key]fold.Extension{},
		callGroups:      map[fold.Key]fold.CallGroup{},
		callLogs:        map[fold.Key]fold.CallLog{},
		extensionCalls:  map[fold.ExtensionCall]fold.ExtensionCall{},
		transcripts:     map[fold.OwnerKey]fold.Transcript{},
		transcriptTexts: map[fold.OwnerKey]fold.TranscriptText{},
		recordings:      map[fold.RecordingKey]fold.Recording{},
		tombstones:      map[fold.TombstoneKey]fold.Tombstone{},
		counts:          map[fold.CountKey]int64{},
	}
}

type stamped = foldtest.Stamped

// apply folds a batch and keeps what became of it.
func (w *world) apply(batch ...stamped) []fold.Outcome {
	s := w.state()
	outcomes := make([]fold.Outcome, len(batch))
	for i, e := range batch {
		outcome, err := s.Fold(e.Event, e.At)
		if err != nil {
			w.dead++
		}
		outcomes[i] = outcome
	}
	keep(w.phoneSystems, &s.PhoneSystems, func(r fold.PhoneSystem) fold.Key { return fold.Key{System: r.ID, ID: r.ID} })
	keep(w.groups, &s.Groups, func(r fold.Group) fold.Key { return fold.Key{ID: r.ID} })
	keep(w.extensions, &s.Extensions, func(r fold.Extension) fold.Key { return r.Key })
	keep(w.callGroups, &s.CallGroups, func(r fold.CallGroup) fold.Key { return r.Key })
	keep(w.callLogs, &s.CallLogs, func(r fold.CallLog) fold.Key { return r.Key })
	keep(w.extensionCalls, &s.ExtensionCalls, func(r fold.ExtensionCall) fold.ExtensionCall { return r })
	keep(w.transcripts, &s.Transcripts, func(r fold.Transcript) fold.OwnerKey { return r.OwnerKey })
	keep(w.transcriptTexts, &s.TranscriptTexts, func(r fold.TranscriptText) fold.OwnerKey { return r.OwnerKey })
	keep(w.recordings, &s.Recordings, func(r fold.Recording) fold.RecordingKey { return r.RecordingKey })
	keep(w.tombstones, &s.Tombstones, func(r fold.Tombstone) fold.TombstoneKey { return r.TombstoneKey })
	for key, by := range s.Counts {
		if w.counts[key] += by; w.counts[key] == 0 {
			delete(w.counts, key)
		}
	}
	return outcomes
}

func (w *world) state() *fold.State {
	s := new(fold.State)
	load(w.phoneSystems, s.PhoneSystems.Load)
	load(w.groups, s.Groups.Load)
	load(w.extensions, s.Extensions.Load)
	load(w.callGroups, s.CallGroups.Load)
	load(w.callLogs, s.CallLogs.Load)
	load(w.transcripts, s.Transcripts.Load)
	load(w.recordings, func(_ fold.RecordingKey, row fold.Recording) { s.LoadRecording(row) })
	load(w.tombstones, s.Tombstones.Load)
	return s
}

func load[K comparable, R any](rows map[K]R, load func(K, R)) {
	for key, row := range rows {
		load(key, row)
	}
}

func keep[K, R comparable](rows map[K]R, changed *fold.Table[K, R], key func(R) K) {
	upserts, deletes := changed.Changes()
	for _, k := range deletes {
		delete(rows, k)
	}
	for _, row := range upserts {
		rows[key(row)] = row
	}
}

// differences names the tables in which two worlds differ; clocks tells whether UpdatedAt counts.
func (w *world) differences(other *world, clocks bool) []string {
	callLogs, otherCallLogs := w.callLogs, other.callLogs
	if !clocks {
		callLogs, otherCallLogs = timeless(callLogs), timeless(otherCallLogs)
	}
	var list []string
	note := func(name string, equal bool) {
		if !equal {
			list = append(list, name)
		}
	}
	note("phone_system", maps.Equal(w.phoneSystems, other.phoneSystems))
	note("phone_system_group", maps.Equal(w.groups, other.groups))
	note("extension", maps.Equal(w.extensions, other.extensions))
	note("call_group", maps.Equal(w.callGroups, other.callGroups))
	note("call_log", maps.Equal(callLogs, otherCallLogs))
	note("extension_call", maps.Equal(w.extensionCalls, other.extensionCalls))
	note("transcript", maps.Equal(w.transcripts, other.transcripts))
	note("transcript_text", maps.Equal(w.transcriptTexts, other.transcriptTexts))
	note("recording", maps.Equal(w.recordings, other.recordings))
	note("tombstone", maps.Equal(w.tombstones, other.tombstones))
	note("day_count", maps.Equal(w.counts, other.counts))
	note("dead letters", w.dead == other.dead)
	return list
}

func timeless(rows map[fold.Key]fold.CallLog) map[fold.Key]fold.CallLog {
	cut := make(map[fold.Key]fold.CallLog, len(rows))
	for key, row := range rows {
		row.UpdatedAt = 0
		cut[key] = row
	}
	return cut
}

// recount is day_count and extension_call as they follow from the call rows alone.
func (w *world) recount() (map[fold.CountKey]int64, map[fold.ExtensionCall]fold.ExtensionCall) {
	counts, calls := map[fold.CountKey]int64{}, map[fold.ExtensionCall]fold.ExtensionCall{}
	for _, row := range w.callLogs {
		day := events.TimeOf(row.CreatedAt.Std().Truncate(24 * 3600e9))
		counts[fold.CountKey{System: row.System, List: fold.ListCallLog, Day: day}]++
		parties := map[uuid.UUID]bool{}
		for _, party := range []events.Null[uuid.UUID]{row.AnsweredByExtensionID, row.FromExtensionID} {
			if party.Valid {
				parties[party.Value] = true
			}
		}
		for party := range parties {
			counts[fold.CountKey{System: row.System, List: fold.ListCallLog, Subset: party, Day: day}]++
			entry := fold.ExtensionCall{System: row.System, Extension: party, CreatedAt: row.CreatedAt, Call: row.ID}
			calls[entry] = entry
		}
	}
	return counts, calls
}

func at(clock events.Time, e events.Event) stamped { return stamped{Event: e, At: clock} }

func id(n int) uuid.UUID { return foldtest.ID(n) }

func mustOutcomes(t *testing.T, got []fold.Outcome, want ...fold.Outcome) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("outcomes %v, want %v", got, want)
	}
}
