package scenario_test

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/google/uuid"

	"callboard/readapi/access"
)

// fields are an object's members, all of them. Values are whatever is written as the JSON that is expected.
type fields map[string]any

// and are the fields with more of them.
func (f fields) and(more fields) fields {
	sum := maps.Clone(f)
	maps.Copy(sum, more)
	return sum
}

// is holds a value, as JSON, against what is expected of it: every member, and no other.
func (s *stage) is(what string, value, want any) {
	s.t.Helper()
	got, expected := s.normal(value), s.normal(want)
	if got != expected {
		s.t.Errorf("%s is\n%s, want\n%s", what, got, expected)
	}
}

// normal is a value as JSON in one form: members in order of their names, numbers as they are read.
func (s *stage) normal(value any) string {
	s.t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	var decoded any
	if err := json.Unmarshal(text, &decoded); err != nil {
		s.t.Fatal(err)
	}
	text, err = json.Marshal(decoded)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// holds compares those of an object's members that are expected, and no other.
func (s *stage) holds(what string, object any, want fields) {
	s.t.Helper()
	all, _ := object.(map[string]any)
	part := map[string]any{}
	for name := range want {
		if value, ok := all[name]; ok {
			part[name] = value
		}
	}
	s.is(what, part, want)
}

// at is the value at a place such as data.0.id; nil where there is nothing.
func at(value any, place string) any {
	if place == "" {
		return value
	}
	for _, part := range strings.Split(place, ".") {
		value = step(value, part)
	}
	return value
}

// read reads what has to be there.
func (s *stage) read(key access.Key, path string) map[string]any {
	s.t.Helper()
	a := s.get(key, path)
	if a.status != 200 {
		s.t.Fatalf("GET %s: %d %s", path, a.status, a.text)
	}
	return a.body
}

// shows holds a place of an answer against what is expected there.
func (s *stage) shows(key access.Key, path, place string, want any) {
	s.t.Helper()
	s.is("GET "+path+": "+place, at(s.read(key, path), place), want)
}

// report is a call's report row in full, and nil where it has none.
func (s *stage) report(key access.Key, system, call uuid.UUID, parameters ...string) map[string]any {
	s.t.Helper()
	query := strings.Join(append([]string{march}, parameters...), "&")
	page := s.read(key, "/"+system.String()+"/call-log-reports?"+query)
	for _, row := range page["data"].([]any) {
		if row := row.(map[string]any); row["id"] == call.String() {
			return row
		}
	}
	return nil
}

// column is one member of all rows of a list.
func column(rows any, name string) []any {
	values := []any{}
	for _, row := range rows.([]any) {
		values = append(values, row.(map[string]any)[name])
	}
	return values
}
