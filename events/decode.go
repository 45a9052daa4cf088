package events

import "github.com/google/uuid"

// Decode parses a message, as published or as stored. The error, if any, is an [*InvalidError] with every problem
// found.
func Decode(m Message) (Event, error) {
	var d Decoder
	return d.Decode(m)
}

// Decoder decodes one message after the other and reuses its memory for that. The zero value is ready. A Decoder is
// not safe for concurrent use.
type Decoder struct {
	message  Message
	event    Event
	problems problems
	document document
}

// Decode is [Decode].
func (d *Decoder) Decode(m Message) (Event, error) {
	d.message = m
	d.run()
	event, err := d.event, d.problems.err()
	d.document.forget()
	d.message, d.event, d.problems = Message{}, Event{}, nil
	return event, err
}

func (d *Decoder) run() {
	a := readHeader(d.message.Header)
	if a.server != "" {
		d.problems.add("header:"+a.server, "must be absent: a server sets it on its copy of a message, "+
			"and publishers never set it")
		return
	}

	switch mediaType(a.contentType) {
	// In structured mode the body has the attributes.
	case contentEvent:
		if o := d.body(); o != nil {
			d.structured(o)
		}

	case contentJSON, "":
		// In binary mode the headers have the attributes.
		a.check(&d.event, &d.problems, func(attribute string) string { return "header:ce-" + attribute })
		if o := d.body(); o != nil {
			d.data(a.ceType, "header:"+headerType, o)
			d.checkSubject("subject")
		}

	default:
		d.problems.add("header:"+headerContentType, "must be application/json or application/cloudevents+json")
	}
}

func (d *Decoder) body() *object { return d.document.object(d.message.Data, &d.problems) }

// structured reads structured mode, where attributes and data are members of the body.
func (d *Decoder) structured(o *object) {
	a := attributes{
		specVersion: required(o, "specversion", text),
		id:          required(o, "id", name),
		source:      required(o, "source", name),
		ceType:      required(o, "type", text),
		time:        nullable(o, "time", text).Value,
	}

	// Attributes that could not be read would be reported a second time.
	if len(d.problems) > 0 {
		return
	}

	a.check(&d.event, &d.problems, func(attribute string) string { return "/" + attribute })
	if data := o.requiredObject("data"); data != nil {
		d.data(a.ceType, "/type", data)
	}
	d.checkSubject("subject")
}

// data reads the entity's state or deletion. typeAt is the pointer to the type.
func (d *Decoder) data(ceType, typeAt string, o *object) {
	r, deleted, ok := parseType(ceType)
	if !ok {
		d.problems.add(typeAt, "must be callboard.<entity>.changed or callboard.<entity>.deleted of a known entity")
		return
	}

	if deleted {
		d.event.Identity = r.readDeletion(o)
	} else {
		d.event.State = r.readState(o)
		d.event.Identity = d.event.State.Identity()
	}
}

// checkSubject compares the subject with the body. Where they disagree, neither is trusted. at is the pointer to
// the subject.
func (d *Decoder) checkSubject(at string) {
	if len(d.problems) > 0 {
		return
	}

	system, entity, ok := subjectParts(d.message.Subject)
	r, _ := registered(d.event.Entity)

	switch {
	case !ok:
		d.problems.add(at, "must be phones.<system>.<entity>")
	case entity != string(d.event.Entity):
		d.problems.add(at, "names another entity than the event's type")
	case system != systemToken(d.event.System):
		d.problems.add(at, "names another phone system than the data")

	case d.event.System == uuid.Nil && !r.global:
		d.problems.add(at, "only groups and classifications are global")
	}
}
