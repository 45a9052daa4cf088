//go:build linux

package load_test

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// figures are measurements by name, a value per round, in the order in which names were added.
type figures struct {
	names  []string
	values map[string][]float64
}

func (f *figures) add(name string, value float64) {
	if f.values == nil {
		f.values = make(map[string][]float64)
	}
	if f.values[name] == nil {
		f.names = append(f.names, name)
	}
	f.values[name] = append(f.values[name], value)
}

// medians returns a line per name.
func (f *figures) medians() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, name := range f.names {
		fmt.Fprintf(w, "%.2f\t  %s\n", median(f.values[name]), name)
	}
	_ = w.Flush() // to memory
	return b.String()
}
