package setting

import (
	"iter"
	"maps"
	"slices"
)

// Variables are settings by the names of their environment variables.
type Variables map[string]string

// Sorted yields the variables by name.
func (v Variables) Sorted() iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if !yield(name, v[name]) {
				return
			}
		}
	}
}
