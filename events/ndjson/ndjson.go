// Package ndjson reads events from lines of JSON:
//
//	{"type": "callboard.call.changed", "data": {...}, "system": "...", "id": "...", "time": "..."}
//
// Type and data are required. Without a system, the line belongs to the phone system that its data names.
package ndjson

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
)

// Line is a line of the input: an event, or the error that made it unreadable.
type Line struct {
	Number int // from 1
	Event  events.Event
	Err    error
}

const (
	maxLine   = 2 * events.MaxBodyBytes // longer than any valid event, even if all its characters are escaped
	readAhead = 256                     // lines in the channel
)

// Read reads lines until the input ends, a line is invalid or ctx ends. An invalid line is the last one. Read skips empty lines. It
// closes the channel at the end; its goroutine can outlive ctx only in a call of the input's Read.
func Read(ctx context.Context, input io.Reader, source string) <-chan Line {
	lines := make(chan Line, readAhead)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(input)
		scanner.Buffer(make([]byte, 0, 64<<10), maxLine)
		number := 1
		for ; scanner.Scan(); number++ {
			text := bytes.TrimSpace(scanner.Bytes())
			if len(text) == 0 {
				continue
			}
			event, err := Decode(text, source)
			if !send(ctx, lines, Line{Number: number, Event: event, Err: err}) || err != nil {
				return
			}
		}
		err := scanner.Err()
		if errors.Is(err, bufio.ErrTooLong) {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		}
		if err != nil {
			send(ctx, lines, Line{Number: number, Err: err})
		}
	}()
	return lines
}

// send reports whether it sent the line before ctx ended.
func send(ctx context.Context, lines chan<- Line, line Line) bool {
	select {
	case lines <- line:
		return true
	case <-ctx.Done():
		return false
	}
}

// jsonLine is the content of a line.
type jsonLine struct {
	Type   string         `json:"type"`
	Data   jsontext.Value `json:"data"`
	System *string        `json:"system"`
	ID     *string        `json:"id"`
	Time   *string        `json:"time"`
}

// cloudEvent is an event in CloudEvents' structured mode. Its members have the names of the line's, so the pointers of problems fit
// both.
type cloudEvent struct {
	SpecVersion string         `json:"specversion"`
	ID          string         `json:"id"`
	Source      string         `json:"source"`
	Type        string         `json:"type"`
	Time        *string        `json:"time,omitempty"`
	Data        jsontext.Value `json:"data,omitempty"`
}

// Decode parses a line. An error is an [*events.InvalidError] whose pointers are into the line. The event has the ID of the line, or a
// random one, and the source given.
func Decode(text []byte, source string) (events.Event, error) {
	var l jsonLine
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return events.Event{}, invalidLine(err)
	}
	c := cloudEvent{
		SpecVersion: "1.0", ID: uuid.NewString(), Source: source, Type: l.Type, Time: l.Time, Data: l.Data,
	}
	if l.ID != nil {
		c.ID = *l.ID
	}
	body, err := json.Marshal(c)
	if err != nil {
		return events.Event{}, invalidLine(err)
	}
	event, err := events.Decode(events.Message{
		Subject: "phones." + l.system() + "." + entity(l.Type),
		Header:  nats.Header{"Content-Type": {"application/cloudevents+json"}},
		Data:    body,
	})
	var invalid *events.InvalidError
	if errors.As(err, &invalid) {
		for i, p := range invalid.Problems {
			if p.Pointer == "subject" {
				invalid.Problems[i] = events.Problem{Pointer: "/system", Detail: strings.Replace(p.Detail, "subject", "system", 1)}
			}
		}
	}
	return event, err
}

// entity returns the part of a type that a subject has. Decode refuses a type without one.
func entity(ceType string) string {
	name := strings.TrimPrefix(ceType, "callboard.")
	return strings.TrimSuffix(strings.TrimSuffix(name, ".changed"), ".deleted")
}

// system returns the subject's token for the line's phone system. Where the data has none, Decode refuses the data.
func (l jsonLine) system() string {
	if l.System != nil {
		return strings.ToLower(*l.System)
	}
	var data struct {
		ID            string `json:"id"`
		PhoneSystemID string `json:"phoneSystemId"`
	}
	if err := json.Unmarshal(l.Data, &data); err != nil {
		return events.Global
	}
	switch entity := entity(l.Type); {
	case entity == string(events.EntityPhoneSystem):
		return strings.ToLower(data.ID)
	case entity == string(events.EntityGroup), data.PhoneSystemID == "":
		return events.Global
	}
	return strings.ToLower(data.PhoneSystemID)
}

// invalidLine returns an error of the JSON package as a problem of the line.
func invalidLine(err error) error {
	p := events.Problem{Detail: err.Error()}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		p = events.Problem{Pointer: string(semantic.JSONPointer), Detail: "unknown member: a line has type, data, system, id and time"}
	case errors.As(err, &semantic):
		p = events.Problem{Pointer: string(semantic.JSONPointer), Detail: "has the wrong type"}
	case errors.As(err, &syntactic):
		p = events.Problem{Pointer: string(syntactic.JSONPointer), Detail: "is not JSON: " + syntactic.Err.Error()}
	}
	return &events.InvalidError{Problems: []events.Problem{p}}
}
