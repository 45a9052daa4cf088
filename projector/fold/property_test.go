package fold_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
)

func applied(batches ...[]timedEvent) *fixture {
	f := newFixture()
	for _, batch := range batches {
		f.apply(batch...)
	}
	return f
}

func checkEqual(t *rapid.T, got, want *fixture) {
	t.Helper()
	if lines := got.differences(want); len(lines) > 0 {
		t.Fatal(strings.Join(lines, "\n"))
	}
}

func TestFold_AnyBatchingGivesTheSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := randomHistory(t)
		var batches [][]timedEvent
		for rest := history; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			batches, rest = append(batches, rest[:n]), rest[n:]
		}
		checkEqual(t, applied(batches...), applied(history))
	})
}

// An event that arrives again, directly or after later ones, changes nothing and is no conflict.
func TestFold_RepeatedEventsChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := randomHistory(t)
		prefix := slices.Clone(history[:rapid.IntRange(0, len(history)).Draw(t, "prefix")])
		var twice []timedEvent
		for _, e := range history {
			twice = append(twice, e, e)
		}
		for i := range prefix {
			prefix[i].At += 500_000
		}
		want := applied(history)
		want.DeadLetters = 0
		for _, got := range []*fixture{applied(twice), applied(history, prefix)} {
			got.DeadLetters = 0
			checkEqual(t, got, want)
		}

		f := newFixture()
		for _, e := range history {
			first := f.apply(e)[0]
			if again := f.apply(e)[0]; again == fold.Conflicting && first != fold.Conflicting {
				t.Fatalf("%s, repeated: outcome = %s after %s", e.Type(), again, first)
			}
		}
	})
}

// The events of one entity keep their order; those of different entities arrive in any order. Voicemails are left
// out: a deleted voicemail can be created again, so the result depends on what arrived before its deletion.
// UpdatedAt depends on the order too.
func TestFold_AnyOrderOfEntitiesGivesTheSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := slices.DeleteFunc(randomHistory(t), func(e timedEvent) bool { return e.Entity == events.EntityVoicemail })
		queues := map[string][]timedEvent{}
		for _, e := range history {
			key := fmt.Sprint(e.Entity, e.System, e.Key)
			queues[key] = append(queues[key], e)
		}
		keys := slices.Sorted(maps.Keys(queues))
		shuffled := make([]timedEvent, 0, len(history))
		for len(shuffled) < len(history) {
			i := rapid.IntRange(0, len(keys)-1).Draw(t, "queue")
			queue := queues[keys[i]]
			if len(queue) == 0 {
				keys = slices.Delete(keys, i, i+1)
				continue
			}
			shuffled, queues[keys[i]] = append(shuffled, queue[0]), queue[1:]
		}
		got, want := applied(shuffled), applied(history)
		for _, f := range []*fixture{got, want} {
			for key, row := range f.CallLogs {
				row.UpdatedAt = 0
				f.CallLogs[key] = row
			}
		}
		checkEqual(t, got, want)
	})
}

func TestFold_CountersAndIndexesMatchTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		for _, e := range randomHistory(t) {
			f.apply(e)
			got, want := newFixture(), f.recount()
			got.Counts = f.Counts
			got.GroupMembers = f.GroupMembers
			got.ExtensionEntries = f.ExtensionEntries
			checkEqual(t, got, want)
		}
	})
}

// UpdatedAt changes at an event if, and only if, the event gives the call a row of which the report shows something
// else. The clearing of a reference to a deleted representative does not count.
func TestFold_UpdatedAtChangesExactlyWithTheReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		for _, e := range randomHistory(t) {
			before := maps.Clone(f.CallLogs)
			f.apply(e)
			for key, row := range f.CallLogs {
				previous, existed := before[key]
				want := previous.UpdatedAt
				if !existed || reportRow(f, previous) != reportRow(f, f.beforeClearing(previous, row)) {
					want = e.At
				}
				if row.UpdatedAt != want {
					t.Fatalf("after %s: updatedAt = %d, want %d", e.Type(), row.UpdatedAt, want)
				}
			}
		}
	})
}

// beforeClearing returns a call's row with the representative of the row before, if an event only cleared the
// reference to one that is deleted.
func (f *fixture) beforeClearing(before, row fold.CallLog) fold.CallLog {
	none, empty := events.Null[float64]{}, events.Null[string]{}
	confidence, source := row.RepresentativeConfidence, row.RepresentativeSource
	if !before.RepresentativeID.Valid || f.resolve(events.EntityRepresentative, before, before.RepresentativeID) != nil || row.RepresentativeID.Valid ||
		confidence != none && confidence != before.RepresentativeConfidence || source != empty && source != before.RepresentativeSource {
		return row
	}
	row.RepresentativeState, row.RepresentativeID = before.RepresentativeState, before.RepresentativeID
	row.RepresentativeConfidence, row.RepresentativeSource = before.RepresentativeConfidence, before.RepresentativeSource
	return row
}

// reportRow lists the values that a report shows of a call. A reference to a deleted row shows as null.
func reportRow(f *fixture, row fold.CallLog) string {
	var representative any
	if !row.RepresentativeID.Valid || f.resolve(events.EntityRepresentative, row, row.RepresentativeID) != nil {
		representative = []any{row.RepresentativeState, row.RepresentativeID, row.RepresentativeConfidence, row.RepresentativeSource}
	}
	return fmt.Sprint(representative, row.Category, row.OverallSentiment, row.EmployeeSentiment, row.CustomerSentiment, row.SentimentSource,
		row.ScorecardScore, row.CallSid, row.CreatedAt, row.IsEdited, row.Tags, row.RecordingSid, row.RecordingDuration,
		row.Transcription, f.resolve(events.EntityCallGroup, row, row.CallGroupID),
		f.resolve(events.EntityExtension, row, row.AnsweredByExtensionID), f.resolve(events.EntityExtension, row, row.FromExtensionID))
}

// resolve returns the id, nil if its target was deleted and not defined again.
func (f *fixture) resolve(entity events.Entity, call fold.CallLog, id events.Null[uuid.UUID]) any {
	if _, deleted := f.Tombstones[fold.TombstoneKey{System: call.System, Entity: entity, Key: id.Value.String()}]; !id.Valid || deleted {
		return nil
	}
	return id.Value
}
