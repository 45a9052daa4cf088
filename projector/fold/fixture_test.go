package fold_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"callboard/events"
	"callboard/projector/fold"
)

// fixture is the projection in memory: the rows that a database has between batches.
type fixture struct {
	PhoneSystems     map[uuid.UUID]fold.PhoneSystem
	Groups           map[uuid.UUID]fold.Group
	GroupMembers     map[fold.GroupMember]fold.GroupMember
	Topology         map[fold.TopologyKey]fold.Topology
	Representatives  map[fold.Key]fold.Representative
	Classifications  map[fold.ClassificationKey]fold.Classification
	CallLogs         map[fold.Key]fold.CallLog
	Analyses         map[fold.Key]fold.Analysis
	ExtensionEntries map[fold.ExtensionEntry]fold.ExtensionEntry
	Voicemails       map[fold.Key]fold.Voicemail
	Transcripts      map[fold.OwnerRowKey]fold.Transcript
	TranscriptTexts  map[fold.OwnerRowKey]fold.TranscriptText
	Recordings       map[fold.RecordingKey]fold.Recording
	Tombstones       map[fold.TombstoneKey]fold.Tombstone
	Counts           map[fold.CountKey]int64
	GlobalDirectory  int64
	DeadLetters      int

	Notify bool
	Told   []fold.Notice // of the last batch
}

func newFixture() *fixture {
	f := new(fixture)
	for _, table := range reflect.ValueOf(f).Elem().Fields() {
		if table.Kind() == reflect.Map {
			table.Set(reflect.MakeMap(table.Type()))
		}
	}
	return f
}

// apply folds a batch into loaded rows, saves the changes and returns the outcomes.
func (f *fixture) apply(batch ...timedEvent) []fold.Outcome {
	s := f.state()
	s.Notify = f.Notify
	messages := make([]fold.Message, len(batch))
	for i, e := range batch {
		messages[i] = fold.Message{StoredAt: e.At, Event: e.Event}
	}
	result := fold.Batch(s, fold.Clock{}, messages, fold.Decisions{}, 0)
	outcomes := make([]fold.Outcome, len(batch))
	for i, end := range result.Ends {
		if end.Reason != "" {
			f.DeadLetters++
		}
		outcomes[i] = end.Outcome
	}
	f.Told = nil
	for _, n := range result.Notices {
		f.Told = append(f.Told, n.Notice)
	}
	save(f.PhoneSystems, &s.PhoneSystems, func(r fold.PhoneSystem) uuid.UUID { return r.ID })
	save(f.Groups, &s.Groups, func(r fold.Group) uuid.UUID { return r.ID })
	save(f.GroupMembers, &s.GroupMembers, func(r fold.GroupMember) fold.GroupMember { return r })
	save(f.Topology, &s.Topology, func(r fold.Topology) fold.TopologyKey { return r.TopologyKey })
	save(f.CallLogs, &s.CallLogs, func(r fold.CallLog) fold.Key { return r.Key })
	save(f.Representatives, &s.Representatives, func(r fold.Representative) fold.Key { return r.Key })
	save(f.Classifications, &s.Classifications, func(r fold.Classification) fold.ClassificationKey { return r.ClassificationKey })
	save(f.Analyses, &s.Analyses, func(r fold.Analysis) fold.Key { return r.Key })
	save(f.ExtensionEntries, &s.ExtensionEntries, func(r fold.ExtensionEntry) fold.ExtensionEntry { return r })
	save(f.Voicemails, &s.Voicemails, func(r fold.Voicemail) fold.Key { return r.Key })
	save(f.Transcripts, &s.Transcripts, func(r fold.Transcript) fold.OwnerRowKey { return r.OwnerRowKey })
	save(f.TranscriptTexts, &s.TranscriptTexts, func(r fold.TranscriptText) fold.OwnerRowKey { return r.OwnerRowKey })
	save(f.Recordings, &s.Recordings, func(r fold.Recording) fold.RecordingKey { return r.RecordingKey })
	save(f.Tombstones, &s.Tombstones, func(r fold.Tombstone) fold.TombstoneKey { return r.TombstoneKey })
	for key, by := range s.Counts {
		if f.Counts[key] += by; f.Counts[key] == 0 {
			delete(f.Counts, key)
		}
	}
	f.GlobalDirectory += s.GlobalDirectory
	return outcomes
}

// state loads every row.
func (f *fixture) state() *fold.State {
	s := new(fold.State)
	load(f.PhoneSystems, s.PhoneSystems.Load)
	load(f.Groups, s.Groups.Load)
	load(f.Topology, s.Topology.Load)
	load(f.Representatives, s.Representatives.Load)
	load(f.Classifications, s.Classifications.Load)
	load(f.CallLogs, s.CallLogs.Load)
	load(f.Analyses, s.Analyses.Load)
	load(f.Voicemails, s.Voicemails.Load)
	load(f.Transcripts, s.Transcripts.Load)
	load(f.Recordings, s.Recordings.Load)
	load(f.Tombstones, s.Tombstones.Load)
	return s
}

func load[K comparable, R any](rows map[K]R, load func(K, R)) {
	for key, row := range rows {
		load(key, row)
	}
}

func save[K, R comparable](rows map[K]R, table *fold.Table[K, R], key func(R) K) {
	upserts, deletes := table.Changes()
	for _, k := range deletes {
		delete(rows, k)
	}
	for _, row := range upserts {
		rows[key(*row)] = *row
	}
}

// differences returns one line for each table in which two fixtures differ.
func (f *fixture) differences(want *fixture) []string {
	var lines []string
	tables := reflect.ValueOf(*want)
	for field, got := range reflect.ValueOf(*f).Fields() {
		if got, want := got.Interface(), tables.FieldByIndex(field.Index).Interface(); !reflect.DeepEqual(got, want) {
			lines = append(lines, fmt.Sprintf("%s = %+v, want %+v", field.Name, got, want))
		}
	}
	return lines
}

// recount returns a fixture with only the counters and indexes, computed from the rows.
func (f *fixture) recount() *fixture {
	r := newFixture()
	for _, row := range f.Groups {
		for text := range strings.SplitSeq(string(row.PhoneSystemIDs), ",") {
			if system, err := uuid.Parse(text); err == nil {
				member := fold.GroupMember{System: system, Group: row.ID}
				r.GroupMembers[member] = member
			}
		}
	}
	for _, row := range f.CallLogs {
		r.countPerExtension(fold.ListCallLog, row.Key, row.CreatedAt, row)
		refer := func(family, key string) {
			r.Counts[fold.CountKey{System: row.System, List: "reference/" + family, Subset: key}]++
		}
		for id := range extensionsOf(row) {
			refer("extension", id.String())
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
	for _, row := range f.Analyses {
		if call, ok := f.CallLogs[fold.Key{System: row.System, ID: row.CallID}]; ok {
			r.countPerExtension(fold.ListAnalysis, row.Key, row.CreatedAt, call)
		}
	}
	for _, row := range f.Recordings {
		_, arrived := f.CallLogs[fold.Key{System: row.System, ID: row.OwnerRow.ID}]
		if arrived && row.OwnerRow.Entity == events.EntityCall && row.Status != "unavailable" {
			r.count(row.System, fold.ListRecording, row.CreatedAt, "", row.Status)
		}
	}
	for _, row := range f.Voicemails {
		r.count(row.System, fold.ListVoicemail, row.CreatedAt, "")
	}
	for _, row := range f.Topology {
		r.count(row.System, string(row.Kind), row.CreatedAt, "")
		if row.Status != "" {
			r.count(row.System, string(row.Kind), row.CreatedAt, row.Status)
		}
	}
	return r
}

func (f *fixture) count(system uuid.UUID, list string, createdAt events.Time, subsets ...string) {
	day := fold.Day(events.TimeOf(createdAt.Std().Truncate(24 * 3600e9)))
	for _, subset := range subsets {
		f.Counts[fold.CountKey{System: system, List: list, Subset: subset, Day: day}]++
	}
}

func (f *fixture) countPerExtension(
	list string, key fold.Key, createdAt events.Time, call fold.CallLog,
) {
	f.count(key.System, list, createdAt, "")
	for id := range extensionsOf(call) {
		f.count(key.System, list, createdAt, id.String())
		entry := fold.ExtensionEntry{System: key.System, Extension: id, Analysis: list == fold.ListAnalysis, CreatedAt: createdAt, ID: key.ID}
		f.ExtensionEntries[entry] = entry
	}
}

func extensionsOf(call fold.CallLog) map[uuid.UUID]bool {
	found := map[uuid.UUID]bool{}
	for _, id := range []events.Null[uuid.UUID]{call.AnsweredByExtensionID, call.FromExtensionID} {
		if id.Valid {
			found[id.Value] = true
		}
	}
	return found
}

// The tests use phone system 1, call 30 and voicemail 40.

func at(clock events.Time, e events.Event) timedEvent {
	return timedEvent{Event: e, At: clock}
}

func key(n int) fold.Key { return fold.Key{System: id(1), ID: id(n)} }

func (f *fixture) call() fold.CallLog { return f.CallLogs[key(30)] }

func callOwnerRow() fold.OwnerRowKey {
	return fold.OwnerRowKey{System: id(1), OwnerRow: events.OwnerRow{Entity: events.EntityCall, ID: id(30)}}
}

func call(version int64) *events.Call {
	return &events.Call{ID: id(30), PhoneSystemID: id(1), Version: version, CallSid: "CA1", Direction: "inbound", Status: "completed"}
}

func voicemail(version int64) *events.Voicemail {
	return &events.Voicemail{ID: id(40), PhoneSystemID: id(1), Version: version, CallSid: "CA1", RecordingSid: "RE1"}
}

func recording(sid string, call int, version int64) *events.Recording {
	return &events.Recording{
		RecordingSid: sid, PhoneSystemID: id(1), CallID: events.Some(id(call)), Version: version, Status: events.RecordingReady,
	}
}

func analysis(n int, createdAt events.Time, version int64) *events.Analysis {
	return &events.Analysis{
		ID: id(n), PhoneSystemID: id(1), Version: version, CallID: id(30), CallSid: "CA1", Status: events.AnalysisCompleted, CreatedAt: createdAt,
		OverallScore: events.Some[int64](80), AnalyzedAt: events.Some[events.Time](5), ScorecardScore: events.Some(float64(n)),
	}
}

// transcriptEvent is an event of the call's transcript: a status, "<status>:<text>" or "deleted".
func transcriptEvent(status string, version int64) events.Event {
	t := &events.Transcript{PhoneSystemID: id(1), CallID: events.Some(id(30)), Version: version}
	t.Status, t.Text.Value, t.Text.Valid = strings.Cut(status, ":")
	if status == "deleted" {
		return deleted(t)
	}
	return events.Changed(t)
}

// deleted is the deletion of an entity at the version of the state.
func deleted(state events.State) events.Event { return events.Deleted(state.Identity()) }

func checkOutcomes(t *testing.T, got []fold.Outcome, want ...fold.Outcome) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("outcomes = %v, want %v", got, want)
	}
}

// checkNoRows fails if a table other than that of tombstones has rows, or there is a dead letter.
func checkNoRows(t *testing.T, f *fixture) {
	t.Helper()
	rest := *f
	rest.Tombstones = map[fold.TombstoneKey]fold.Tombstone{}
	for _, line := range rest.differences(newFixture()) {
		t.Error(line)
	}
}
