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
	phones          map[fold.Key]fold.Phone
	callGroups      map[fold.Key]fold.CallGroup
	representatives map[fold.Key]fold.Representative
	classifications map[fold.ClassificationKey]fold.Classification
	callLogs        map[fold.Key]fold.CallLog
	extensionCalls  map[fold.ExtensionEntry]fold.ExtensionEntry
	analyses        map[fold.Key]fold.Analysis
	ownAnalyses     map[fold.ExtensionEntry]fold.ExtensionEntry
	voicemails      map[fold.Key]fold.Voicemail
	transcripts     map[fold.OwnerRowKey]fold.Transcript
	transcriptTexts map[fold.OwnerRowKey]fold.TranscriptText
	recordings      map[fold.RecordingKey]fold.Recording
	tombstones      map[fold.TombstoneKey]fold.Tombstone
	counts          map[fold.CountKey]int64
	references      map[fold.ReferenceKey]int64
	dead            int
}

func newWorld() *world {
	return &world{
		phoneSystems:    map[fold.Key]fold.PhoneSystem{},
		groups:          map[fold.Key]fold.Group{},
		extensions:      map[fold.Key]fold.Extension{},
		phones:          map[fold.Key]fold.Phone{},
		representatives: map[fold.Key]fold.Representative{},
		classifications: map[fold.ClassificationKey]fold.Classification{},
		analyses:        map[fold.Key]fold.Analysis{},
		ownAnalyses:     map[fold.ExtensionEntry]fold.ExtensionEntry{},
		voicemails:      map[fold.Key]fold.Voicemail{},
		callGroups:      map[fold.Key]fold.CallGroup{},
		callLogs:        map[fold.Key]fold.CallLog{},
		extensionCalls:  map[fold.ExtensionEntry]fold.ExtensionEntry{},
		transcripts:     map[fold.OwnerRowKey]fold.Transcript{},
		transcriptTexts: map[fold.OwnerRowKey]fold.TranscriptText{},
		recordings:      map[fold.RecordingKey]fold.Recording{},
		tombstones:      map[fold.TombstoneKey]fold.Tombstone{},
		counts:          map[fold.CountKey]int64{},
		references:      map[fold.ReferenceKey]int64{},
	}
}

type stamped = foldtest.TimedEvent

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
	keep(w.phones, &s.Phones, func(r fold.Phone) fold.Key { return r.Key })
	keep(w.representatives, &s.Representatives, func(r fold.Representative) fold.Key { return r.Key })
	keep(w.classifications, &s.Classifications, func(r fold.Classification) fold.ClassificationKey { return r.ClassificationKey })
	keep(w.extensionCalls, &s.ExtensionCalls, func(r fold.ExtensionEntry) fold.ExtensionEntry { return r })
	keep(w.analyses, &s.Analyses, func(r fold.Analysis) fold.Key { return r.Key })
	keep(w.ownAnalyses, &s.ExtensionAnalyses, func(r fold.ExtensionEntry) fold.ExtensionEntry { return r })
	keep(w.voicemails, &s.Voicemails, func(r fold.Voicemail) fold.Key { return r.Key })
	keep(w.transcripts, &s.Transcripts, func(r fold.Transcript) fold.OwnerRowKey { return r.OwnerRowKey })
	keep(w.transcriptTexts, &s.TranscriptTexts, func(r fold.TranscriptText) fold.OwnerRowKey { return r.OwnerRowKey })
	keep(w.recordings, &s.Recordings, func(r fold.Recording) fold.RecordingKey { return r.RecordingKey })
	keep(w.tombstones, &s.Tombstones, func(r fold.Tombstone) fold.TombstoneKey { return r.TombstoneKey })
	tally(w.counts, s.Counts)
	tally(w.references, s.References)
	return outcomes
}

func tally[K comparable](counts map[K]int64, changes fold.Deltas[K]) {
	for key, by := range changes {
		if counts[key] += by; counts[key] == 0 {
			delete(counts, key)
		}
	}
}

func (w *world) state() *fold.State {
	s := new(fold.State)
	load(w.phoneSystems, s.PhoneSystems.Load)
	load(w.groups, s.Groups.Load)
	load(w.extensions, s.Extensions.Load)
	load(w.callGroups, s.CallGroups.Load)
	load(w.phones, s.Phones.Load)
	load(w.representatives, s.Representatives.Load)
	load(w.classifications, s.Classifications.Load)
	load(w.callLogs, s.CallLogs.Load)
	load(w.analyses, func(_ fold.Key, row fold.Analysis) { s.LoadAnalysis(row) })
	load(w.voicemails, s.Voicemails.Load)
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
	note("phone", maps.Equal(w.phones, other.phones))
	note("representative", maps.Equal(w.representatives, other.representatives))
	note("classification", maps.Equal(w.classifications, other.classifications))
	note("analysis", maps.Equal(w.analyses, other.analyses))
	note("extension_analysis", maps.Equal(w.ownAnalyses, other.ownAnalyses))
	note("voicemail", maps.Equal(w.voicemails, other.voicemails))
	note("reference_count", maps.Equal(w.references, other.references))
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

// recount is everything counted and listed as it follows from the rows alone.
func (w *world) recount() *world {
	r := newWorld()
	for _, row := range w.callLogs {
		r.listOwn(fold.ListCallLog, r.extensionCalls, row.Key, row.CreatedAt, row)
		refer := func(family, key string) {
			r.references[fold.ReferenceKey{System: row.System, Family: family, Key: key}]++
		}
		for party := range parties(row) {
			refer("extension", party.String())
		}
		for family, id := range map[string]events.Null[uuid.UUID]{"call_group": row.CallGroupID, "representative": row.RepresentativeID} {
			if id.Valid {
				refer(family, id.Value.String())
			}
		}
		for kind, code := range map[string]events.Null[string]{
			"category": row.Category, "overall_sentiment": row.OverallSentiment.Code, "employee_sentiment": row.EmployeeSentiment.Code,
			"customer_sentiment": row.CustomerSentiment.Code,
		} {
			if code.Valid {
				refer(kind, code.Value)
			}
		}
	}
	for _, row := range w.analyses {
		if call, ok := w.callLogs[fold.Key{System: row.System, ID: row.CallID}]; ok {
			r.listOwn(fold.ListAnalysis, r.ownAnalyses, row.Key, row.CreatedAt, call)
		}
	}
	for _, row := range w.recordings {
		_, arrived := w.callLogs[fold.Key{System: row.System, ID: row.OwnerRow.ID}]
		if arrived && row.OwnerRow.Entity == events.EntityCall && row.Status != "unavailable" {
			r.list(row.System, fold.ListRecording, row.CreatedAt, "", row.Status)
		}
	}
	for _, row := range w.voicemails {
		r.list(row.System, fold.ListVoicemail, row.CreatedAt, "")
	}
	r.listTopology(w)
	return r
}

func (w *world) listTopology(rows *world) {
	for _, row := range rows.phones {
		w.list(row.System, fold.ListPhone, row.CreatedAt, "")
		if row.Status != "" {
			w.list(row.System, fold.ListPhone, row.CreatedAt, row.Status)
		}
	}
	for _, row := range rows.extensions {
		w.list(row.System, fold.ListExtension, row.CreatedAt, "")
	}
	for _, row := range rows.callGroups {
		w.list(row.System, fold.ListCallGroup, row.CreatedAt, "")
	}
}

func (w *world) list(system uuid.UUID, list string, createdAt events.Time, subsets ...string) {
	day := events.TimeOf(createdAt.Std().Truncate(24 * 3600e9))
	for _, subset := range subsets {
		w.counts[fold.CountKey{System: system, List: list, Subset: subset, Day: day}]++
	}
}

func (w *world) listOwn(list string, entries map[fold.ExtensionEntry]fold.ExtensionEntry, key fold.Key, createdAt events.Time, call fold.CallLog) {
	w.list(key.System, list, createdAt, "")
	for party := range parties(call) {
		w.list(key.System, list, createdAt, party.String())
		entry := fold.ExtensionEntry{System: key.System, Extension: party, CreatedAt: createdAt, ID: key.ID}
		entries[entry] = entry
	}
}

func parties(call fold.CallLog) map[uuid.UUID]bool {
	found := map[uuid.UUID]bool{}
	for _, party := range []events.Null[uuid.UUID]{call.AnsweredByExtensionID, call.FromExtensionID} {
		if party.Valid {
			found[party.Value] = true
		}
	}
	return found
}

func at(clock events.Time, e events.Event) stamped { return stamped{Event: e, At: clock} }

func id(n int) uuid.UUID { return foldtest.ID(n) }

func mustOutcomes(t *testing.T, got []fold.Outcome, want ...fold.Outcome) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("outcomes %v, want %v", got, want)
	}
}
