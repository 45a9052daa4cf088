package setting

import (
	"cmp"
	"strings"
)

// Fault is what is wrong with one setting, and what to do about it.
type Fault struct {
	Setting string // the environment variable; empty where a flag has none
	Flag    string
	Detail  string
}

// FaultsError is all that is wrong with a program's settings.
type FaultsError struct {
	Faults []Fault
}

// Error has a line for each fault.
func (e *FaultsError) Error() string {
	var b strings.Builder
	b.WriteString("bad settings:")
	for _, f := range e.Faults {
		b.WriteString("\n  " + cmp.Or(f.Setting, f.Flag))
		if f.Setting != "" {
			b.WriteString(" (" + f.Flag + ")")
		}
		b.WriteString(" " + f.Detail)
	}
	return b.String()
}
