package fold_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
)

func applied(batches ...[]stamped) *world {
	w := newWorld()
	for _, batch := range batches {
		w.apply(batch...)
	}
	return w
}

func mustEqual(t *rapid.T, got, want *world, clocks bool) {
	t.Helper()
	if list := got.differences(want, clocks); len(list) > 0 {
		t.Fatalf("differs in %v", list)
	}
}

func TestFold_AnyBatchingGivesTheSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := foldtest.RandomHistory(t)
		var batches [][]stamped
		for rest := list; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			batches, rest = append(batches, rest[:n]), rest[n:]
		}
		mustEqual(t, applied(batches...), applied(list), true)
	})
}

func TestFold_OnceMoreChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := foldtest.RandomHistory(t)
		var twice []stamped
		for _, e := range list {
			again := e
			again.At += 500_000
			twice = append(twice, e, again)
		}
		got, want := applied(twice), applied(list)
		got.dead, want.dead = 0, 0
		mustEqual(t, got, want, true)
	})
}

func TestFold_APrefixReplayedAfterTheWholeChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := foldtest.RandomHistory(t)
		prefix := slices.Clone(list[:rapid.IntRange(0, len(list)).Draw(t, "prefix")])
		for i := range prefix {
			prefix[i].At += 500_000
		}
		got, want := applied(list, prefix), applied(list)
		got.dead, want.dead = 0, 0
		mustEqual(t, got, want, true)
	})
}

// One entity's events keep their order; those of different entities may come in any. Voicemails are not among them: since one
// that ended may come back, it matters what came before its end.
func TestFold_AnyInterleavingGivesTheSameRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := slices.DeleteFunc(foldtest.RandomHistory(t), func(e stamped) bool { return e.Entity == events.EntityVoicemail })
		queues := map[string][]stamped{}
		for _, e := range list {
			key := fmt.Sprint(e.Entity, e.System, e.Key)
			queues[key] = append(queues[key], e)
		}
		keys := slices.Sorted(maps.Keys(queues))
		shuffled := make([]stamped, 0, len(list))
		for len(shuffled) < len(list) {
			i := rapid.IntRange(0, len(keys)-1).Draw(t, "queue")
			queue := queues[keys[i]]
			if len(queue) == 0 {
				keys = slices.Delete(keys, i, i+1)
				continue
			}
			shuffled, queues[keys[i]] = append(shuffled, queue[0]), queue[1:]
		}
		mustEqual(t, applied(shuffled), applied(list), false)
	})
}

func TestFold_CountsAreThoseOfTheRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for _, e := range foldtest.RandomHistory(t) {
			w.apply(e)
			want := w.recount()
			mustCount(t, "day_count", w.counts, want.counts)
			mustCount(t, "reference_count", w.references, want.references)
			if !maps.Equal(w.extensionCalls, want.extensionCalls) {
				t.Fatalf("extension_call %v, rows say %v", w.extensionCalls, want.extensionCalls)
			}
			if !maps.Equal(w.ownAnalyses, want.ownAnalyses) {
				t.Fatalf("extension_analysis %v, rows say %v", w.ownAnalyses, want.ownAnalyses)
			}
		}
	})
}

func mustCount[K comparable](t *rapid.T, name string, got, want map[K]int64) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Fatalf("%s %v, rows say %v", name, got, want)
	}
}

// A row's time moves at an event if, and only if, the row shows something else after it; references to what isn't there show null.
func TestFold_UpdatedAtMovesExactlyWithTheReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		for _, e := range foldtest.RandomHistory(t) {
			before := maps.Clone(w.callLogs)
			w.apply(e)
			for key, now := range w.callLogs {
				was, existed := before[key]
				moved := !existed || shown(w, was) != shown(w, now)
				want := was.UpdatedAt
				if moved {
					want = e.At
				}
				if now.UpdatedAt != want {
					t.Fatalf("after %s: updatedAt %d, want %d", e.Type(), now.UpdatedAt, want)
				}
			}
		}
	})
}

// shown is what a report row serves, spelled out.
func shown(w *world, row fold.CallLog) string {
	resolve := func(table map[fold.Key]bool, id events.Null[uuid.UUID]) any {
		if !id.Valid || !table[fold.Key{System: row.System, ID: id.Value}] {
			return nil
		}
		return id.Value
	}
	extensions, groups, representatives := map[fold.Key]bool{}, map[fold.Key]bool{}, map[fold.Key]bool{}
	for key := range w.extensions {
		extensions[key] = true
	}
	for key := range w.representatives {
		representatives[key] = true
	}
	for key := range w.callGroups {
		groups[key] = true
	}
	var representative any
	if resolve(representatives, row.RepresentativeID) != nil || !row.RepresentativeID.Valid {
		representative = []any{row.RepresentativeState, row.RepresentativeID, row.RepresentativeConfidence, row.RepresentativeSource}
	}
	return fmt.Sprint(representative, row.Category, row.OverallSentiment, row.EmployeeSentiment, row.CustomerSentiment, row.SentimentSource,
		row.ScorecardScore, row.CallSid, row.CreatedAt, row.IsEdited, row.Tags, row.RecordingSid, row.RecordingDuration,
		row.Transcription, resolve(groups, row.CallGroupID), resolve(extensions, row.AnsweredByExtensionID),
		resolve(extensions, row.FromExtensionID))
}
