package events

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// DecodeLine parses an event that is an object with the members type and data, as a message has them, and
// optionally id, time and system. Without an id, the event gets a random one. Without a system, it belongs to the
// phone system that its data names. An error is an [*InvalidError] whose pointers are into the line.
func DecodeLine(line []byte, source string) (Event, error) {
	var d Decoder
	if o := d.document.object(line, &d.problems); o != nil {
		d.line(o, source)
	}
	return d.event, d.problems.err()
}

func (d *Decoder) line(o *object, source string) {
	// A misspelt id or time would be lost without a word.
	for _, m := range each(o.members) {
		if !slices.Contains([]string{"type", "data", "id", "time", "system"}, m[0].name) {
			d.problems.add(storablePointer("/"+escapePointer(m[0].name)),
				"unknown member: a line has type, data, system, id and time")
		}
	}

	ceType := required(o, "type", text)
	system := nullable(o, "system", text)
	id := nullable(o, "id", text)

	// A line without an id is a new event each time it is read.
	if !id.Valid {
		id.Value = uuid.NewString()
	}

	a := attributes{specVersion: specVersion, id: id.Value, source: source, time: nullable(o, "time", text).Value}
	a.check(&d.event, &d.problems, func(attribute string) string { return "/" + attribute })
	if len(d.problems) > 0 {
		return
	}

	if data := o.requiredObject("data"); data != nil {
		d.data(ceType, "/type", data)
	}

	// The subject has the system of the line, or else of the data. Both must agree.
	token := cmp.Or(strings.ToLower(system.Value), systemToken(d.event.System))
	d.message.Subject = subjectRoot + "." + token + "." + string(d.event.Entity)
	d.checkSubject("/system")
}
