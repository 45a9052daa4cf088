package fold_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"callboard/events"
)

// A directory's version grows by one at an event if, and only if, the directory shows something else after it.
func TestFold_DirectoryVersionCountsChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		for _, e := range randomHistory(t) {
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
		if slices.Contains([]events.Entity{events.EntityExtension, events.EntityCallGroup, events.EntityRepresentative}, key.Entity) {
			show(key.System, key, "null")
		}
	}
	for key, row := range f.Topology {
		if key.Kind == events.EntityExtension || key.Kind == events.EntityCallGroup {
			show(key.System, key, row.Name, "/", row.Number.Value)
		}
	}
	for key, row := range f.Representatives {
		show(key.System, key, row.Name)
	}
	for key, row := range f.Classifications {
		show(key.System, key, row.Label, "/", row.Score)
	}
	return all
}
