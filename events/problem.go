package events

import "strings"

// Problem is one reason why a message is refused. Pointer is the JSON pointer (RFC 6901) of the member, empty for
// the whole message. It is "header:<name>" for a header and "subject" for the subject.
type Problem struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// InvalidError means that a message is refused. It has every problem found, up to a hundred. The details never
// quote the data; the pointers name its members.
type InvalidError struct {
	Problems []Problem
}

// Error lists the problems on one line.
func (e *InvalidError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteString("; ")
		}

		if p.Pointer != "" {
			b.WriteString(p.Pointer)
			b.WriteString(": ")
		}
		b.WriteString(p.Detail)
	}

	return b.String()
}

// maxProblems limits the memory that a hostile message costs: an array of one megabyte can have half a million
// problems.
const maxProblems = 100

// problems collects the problems of one message.
type problems []Problem

func (p *problems) add(pointer, detail string) {
	switch {
	case len(*p) < maxProblems:
		*p = append(*p, Problem{Pointer: pointer, Detail: detail})
	case !p.full():
		*p = append(*p, Problem{Detail: "more problems are not listed"})
	}
}

// full reports whether add adds nothing more.
func (p *problems) full() bool { return len(*p) > maxProblems }

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &InvalidError{Problems: p}
}
