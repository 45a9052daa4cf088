package main

import (
	"fmt"

	"github.com/google/uuid"

	"callboard/events"
)

// phoneSystem is one phone system, or with [uuid.Nil] what belongs to no single one.
type phoneSystem struct {
	id uuid.UUID
}

// UnmarshalText reads a UUID or "global".
func (s *phoneSystem) UnmarshalText(text []byte) error {
	if string(text) == events.Global {
		s.id = uuid.Nil
		return nil
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		return fmt.Errorf("%q is neither a UUID nor %q", text, events.Global)
	}
	s.id = id
	return nil
}

// String is the text that UnmarshalText reads.
func (s phoneSystem) String() string {
	if s.id == uuid.Nil {
		return events.Global
	}
	return s.id.String()
}
