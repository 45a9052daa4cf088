package events

import "github.com/google/uuid"

// Decode reads a message, as published or as stored. Where it can't, the error is an [*InvalidError] with every problem found.
func Decode(m Message) (Event, error) {
	d := decoding{message: m}
	d.run()
	return d.event, d.problems.err()
}

type decoding struct {
	message  Message
	event    Event
	problems problems
}

func (d *decoding) run() {
	a := headerAttributes(d.message.Header)
	switch mediaType(a.contentType) {
	case contentEvent:
		d.structured()
	case contentJSON, "":
		a.check(&d.event, &d.problems, func(attribute string) string { return "header:ce-" + attribute })
		if o := rootObject(d.message.Data, &d.problems); o != nil {
			d.data(a.ceType, "header:"+headerType, o)
		}
	default:
		d.problems.add("header:"+headerContentType, "must be application/json or application/cloudevents+json")
	}
}

// structured reads an event whose attributes and data are members of the body.
func (d *decoding) structured() {
	o := rootObject(d.message.Data, &d.problems)
	if o == nil {
		return
	}
	a := attributes{
		specVersion: required(o, "specversion", text),
		id:          required(o, "id", name),
		source:      required(o, "source", name),
		ceType:      required(o, "type", text),
		time:        nullable(o, "time", text).Value,
	}
	if len(d.problems) > 0 {
		return
	}
	a.check(&d.event, &d.problems, func(attribute string) string { return "/" + attribute })
	switch m := o.findValue("data"); {
	case m == nil:
		o.problem("data", "is required")
	case m[0].kind != '{':
		o.problem("data", "must be an object")
	default:
		data := o.inner("data", 0, m[1:])
		d.data(a.ceType, "/type", &data)
	}
}

// data reads the entity's state or deletion. typeAt says where the type stands.
func (d *decoding) data(ceType, typeAt string, o *object) {
	entity, deleted, ok := parseType(ceType)
	if !ok {
		d.problems.add(typeAt, "must be callboard.<entity>.changed or callboard.<entity>.deleted of a known entity")
		return
	}
	if deleted {
		d.event.Identity = readDeletion(entity, o)
	} else {
		d.event.State = readState(entity, o)
		d.event.Identity = d.event.State.Identity()
	}
	if len(d.problems) == 0 {
		d.checkSubject()
	}
}

// checkSubject holds the subject against the body: where they disagree, neither can be believed.
func (d *decoding) checkSubject() {
	system, entity, ok := subjectParts(d.message.Subject)
	switch {
	case !ok:
		d.problems.add("subject", "must be phones.<system>.<entity>")
	case entity != string(d.event.Entity):
		d.problems.add("subject", "names another entity than the event's type")
	case system != systemToken(d.event.System):
		d.problems.add("subject", "names another phone system than the data")
	case d.event.System == uuid.Nil && d.event.Entity != EntityGroup && d.event.Entity != EntityClassification:
		d.problems.add("subject", "only groups and classifications are global")
	}
}
