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

// The version of a directory grows by one at an event if, and only if, the directory shows something else after it.
// A phone system that does not exist has none.
func TestFold_DirectoryVersionCountsChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := newFixture()
		for _, e := range randomHistory(t) {
			before, versions := f.directories(), f.directoryVersions()
			f.apply(e)

			got, want := f.directoryVersions(), map[uuid.UUID]int64{}
			for system := range got {
				want[system] = versions[system]
			}
			if _, exists := want[e.System]; exists && !maps.Equal(before[e.System], f.directories()[e.System]) {
				want[e.System]++
			}
			if !maps.Equal(got, want) {
				t.Fatalf("after %s: versions = %v, want %v", e.Type(), got, want)
			}
		}
	})
}

// directoryVersions returns the versions of the directories, by phone system.
func (f *fixture) directoryVersions() map[uuid.UUID]int64 {
	versions := map[uuid.UUID]int64{uuid.Nil: f.GlobalDirectory}
	for system, row := range f.PhoneSystems {
		versions[system] = row.Directory
	}
	return versions
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
