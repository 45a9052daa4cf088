// Package ndjson reads events from lines of JSON, as people and scripts write them:
//
//	{"type": "callboard.call.changed", "data": {...}, "system": "...", "id": "...", "time": "..."}
//
// Type and data are required. A line that names no system is the one's that its data belongs to.
package ndjson

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
)

// line is what a line holds.
type line struct {
	Type   string         `json:"type"`
	Data   jsontext.Value `json:"data"`
	System *string        `json:"system"`
	ID     *string        `json:"id"`
	Time   *string        `json:"time"`
}

// cloudEvent is an event in CloudEvents' structured mode, in which the reader of events names a member's place as the line does.
type cloudEvent struct {
	SpecVersion string         `json:"specversion"`
	ID          string         `json:"id"`
	Source      string         `json:"source"`
	Type        string         `json:"type"`
	Time        *string        `json:"time,omitempty"`
	Data        jsontext.Value `json:"data,omitempty"`
}

// Decode reads a line. The error is an [*events.InvalidError] whose pointers are into the line. The event has the ID that the
// line names, or a random one.
func Decode(text []byte, source string) (events.Event, error) {
	var l line
	if err := json.Unmarshal(text, &l, json.RejectUnknownMembers(true)); err != nil {
		return events.Event{}, malformed(err)
	}
	c := cloudEvent{
		SpecVersion: "1.0", ID: uuid.NewString(), Source: source, Type: l.Type, Time: l.Time, Data: l.Data,
	}
	if l.ID != nil {
		c.ID = *l.ID
	}
	body, err := json.Marshal(c)
	if err != nil {
		return events.Event{}, malformed(err)
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

// entity is the part of a type that stands in a subject. A type that has none is refused with the body.
func entity(ceType string) string {
	name := strings.TrimPrefix(ceType, "callboard.")
	return strings.TrimSuffix(strings.TrimSuffix(name, ".changed"), ".deleted")
}

// system is the subject's token. Data too broken to tell is refused with the body.
func (l line) system() string {
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
	switch of := entity(l.Type); {
	case of == string(events.EntityGroup):
		return events.Global
	case of == string(events.EntityPhoneSystem):
		return strings.ToLower(data.ID)
	case data.PhoneSystemID == "":
		return events.Global
	}
	return strings.ToLower(data.PhoneSystemID)
}

// malformed turns the JSON package's errors into problems of the line.
func malformed(err error) error {
	p := events.Problem{Detail: err.Error()}
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic) && errors.Is(err, json.ErrUnknownName):
		p = events.Problem{Pointer: string(semantic.JSONPointer), Detail: "no such member: a line has type, data, system, id and time"}
	case errors.As(err, &semantic):
		p = events.Problem{Pointer: string(semantic.JSONPointer), Detail: "has the wrong type"}
	case errors.As(err, &syntactic):
		p = events.Problem{Pointer: string(syntactic.JSONPointer), Detail: "is not JSON: " + syntactic.Err.Error()}
	}
	return &events.InvalidError{Problems: []events.Problem{p}}
}
