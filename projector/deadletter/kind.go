package deadletter

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// Kind is what many reasons have in common.
type Kind struct {
	Reason string `json:"reason"`
	Count  int64  `json:"count"`
}

// kindOf is the first problem of a reason, without the details in which letters of a kind differ: places in arrays, ids, what
// another program said, and where a body ceases to be JSON.
func kindOf(reason string) string {
	first, _, _ := strings.Cut(reason, "; ")
	where, what, found := strings.Cut(first, ": ")
	switch {
	case !found, strings.HasPrefix(where, "audit "):
		return first
	case strings.HasPrefix(first, notJSON), strings.HasPrefix(what, notJSON):
		return strings.TrimSuffix(notJSON, ": ")
	}
	what, _, _ = strings.Cut(what, ": ")
	return anyElement(withoutID(where)) + ": " + what
}

const notJSON = "not JSON: "

// anyElement is a JSON pointer with an asterisk for each place in an array.
func anyElement(pointer string) string {
	names := strings.Split(pointer, "/")
	for i, name := range names {
		if name != "" && strings.Trim(name, "0123456789") == "" {
			names[i] = "*"
		}
	}
	return strings.Join(names, "/")
}

// withoutID leaves out the id of an audit entry.
func withoutID(where string) string {
	name, id, _ := strings.Cut(where, " ")
	if _, err := uuid.Parse(id); err != nil {
		return where
	}
	return name
}

func byFrequency(counts map[string]int64) []Kind {
	kinds := make([]Kind, 0, len(counts))
	for reason, count := range counts {
		kinds = append(kinds, Kind{reason, count})
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason)) })
	return kinds
}
