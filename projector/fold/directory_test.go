package fold_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
	"callboard/projector/fold"
	"callboard/projector/fold/foldtest"
)

// A directory's version grows by one at an event if, and only if, the directory shows something else after it.
func TestFold_DirectoryVersionCountsChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		for _, e := range foldtest.RandomHistory(t) {
			before, want := f.directories(), maps.Clone(f.Directories)
			f.apply(e)
			after := f.directories()
			if !maps.Equal(before[e.System], after[e.System]) {
				want[e.System]++
			}
			if !maps.Equal(f.Directories, want) {
				t.Fatalf("after %s: versions = %v, want %v", e.Type(), f.Directories, want)
			}
		}
	})
}

// directories lists what each phone system's directory shows, by entity.
func (f *fixture) directories() map[uuid.UUID]map[string]string {
	all := map[uuid.UUID]map[string]string{}
	show := func(system uuid.UUID, entity any, values ...any) {
		if all[system] == nil {
			all[system] = map[string]string{}
		}
		all[system][fmt.Sprint(entity)] = fmt.Sprint(values...)
	}
	for key := range f.Tombstones {
		if fold.LookedUp(key.Entity) {
			show(key.System, key, "null")
		}
	}
	for key, row := range f.Extensions {
		show(key.System, key, row.Name, "/", row.Number)
	}
	for key, row := range f.CallGroups {
		show(key.System, key, row.Name, "/", row.Number)
	}
	for key, row := range f.Representatives {
		show(key.System, key, row.Name)
	}
	for key, row := range f.Classifications {
		show(key.System, key, row.Label, "/", row.Score)
	}
	return all
}

func TestFold_DirectoryVersion(t *testing.T) {
	system := foldtest.ID(1)
	extension := func(version int64, name, status string) events.State {
		return &events.Extension{ID: foldtest.ID(10), PhoneSystemID: system, Version: version, Name: name, Number: "101", Status: status}
	}
	global := &events.Classification{Version: 1, Kind: "category", Code: "sales", Label: "Sales"}
	f := newFixture()
	for _, step := range []struct {
		name  string
		event events.Event
		want  map[uuid.UUID]int64
	}{
		{"new", events.Changed(extension(1, "Ana", "active")), map[uuid.UUID]int64{system: 1}},
		{"other status", events.Changed(extension(2, "Ana", "inactive")), map[uuid.UUID]int64{system: 1}},
		{"other name", events.Changed(extension(3, "Bo", "inactive")), map[uuid.UUID]int64{system: 2}},
		{"stale", events.Changed(extension(2, "Cy", "inactive")), map[uuid.UUID]int64{system: 2}},
		{
			"deleted", events.Deleted(events.Identity{Entity: events.EntityExtension, System: system, Key: foldtest.ID(10).String(), Version: 4}),
			map[uuid.UUID]int64{system: 3},
		},
		{
			"deleted again", events.Deleted(events.Identity{Entity: events.EntityExtension, System: system, Key: foldtest.ID(10).String(), Version: 5}),
			map[uuid.UUID]int64{system: 3},
		},
		{"created again without a name", events.Changed(extension(6, "", "active")), map[uuid.UUID]int64{system: 4}},
		{"global classification", events.Changed(global), map[uuid.UUID]int64{system: 4, uuid.Nil: 1}},
		{
			"deleted, and never defined", deleted(&events.CallGroup{ID: foldtest.ID(20), PhoneSystemID: system, Version: 1}),
			map[uuid.UUID]int64{system: 5, uuid.Nil: 1},
		},
		{"phone system", events.Changed(&events.PhoneSystem{ID: system, Version: 1, Name: "One"}), map[uuid.UUID]int64{system: 5, uuid.Nil: 1}},
	} {
		if outcome := f.apply(foldtest.TimedEvent{Event: step.event, At: 1})[0]; outcome == fold.Ignored {
			t.Fatalf("%s: outcome = %v, want another", step.name, outcome)
		}
		if !maps.Equal(f.Directories, step.want) {
			t.Errorf("%s: versions = %v, want %v", step.name, f.Directories, step.want)
		}
	}
}
