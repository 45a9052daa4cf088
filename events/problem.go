package events

import "strings"

// Problem is one thing wrong with a message. Pointer is the JSON pointer (RFC 6901) of the member at fault, empty for the
// message as a whole; header problems point to "header:<name>" and subject problems to "subject".
type Problem struct {
	Pointer string `json:"pointer"`
	Detail  string `json:"detail"`
}

// InvalidError is a message that can't be read, with every problem found in it, up to a hundred. The details never quote the
// data; the pointers name its members.
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

// maxProblems bounds what a hostile message can make its reader keep: an array of a megabyte can hold half a million of them.
const maxProblems = 100

// problems gathers what is wrong with one message.
type problems []Problem

func (p *problems) add(pointer, detail string) {
	switch {
	case len(*p) < maxProblems:
		*p = append(*p, Problem{Pointer: pointer, Detail: detail})
	case len(*p) == maxProblems:
		*p = append(*p, Problem{Detail: "and more"})
	}
}

func (p problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return &InvalidError{Problems: p}
}
