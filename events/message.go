package events

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
)

// The headers of CloudEvents' NATS binding in binary mode.
const (
	headerSpecVersion = "ce-specversion"
	headerID          = "ce-id"
	headerSource      = "ce-source"
	headerType        = "ce-type"
	headerTime        = "ce-time"
	headerContentType = "Content-Type"

	specVersion  = "1.0"
	contentJSON  = "application/json"
	contentEvent = "application/cloudevents+json"
	maxAttribute = 1024
)

// Message is what travels: a subject, headers and a body.
type Message struct {
	Subject string
	Header  nats.Header
	Data    []byte
}

// attributes are the CloudEvents context attributes of a message.
type attributes struct {
	specVersion, id, source, ceType, time, contentType string
}

func headerAttributes(h nats.Header) attributes {
	return attributes{
		specVersion: header(h, headerSpecVersion),
		id:          header(h, headerID),
		source:      header(h, headerSource),
		ceType:      header(h, headerType),
		time:        header(h, headerTime),
		contentType: header(h, headerContentType),
	}
}

// header looks a header up as it is written by most and then, since HTTP gateways change case, in any case.
func header(h nats.Header, name string) string {
	if v, ok := h[name]; ok && len(v) > 0 {
		return v[0]
	}
	for key, v := range h {
		if len(v) > 0 && strings.EqualFold(key, name) {
			return v[0]
		}
	}
	return ""
}

func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// check reports what is wrong with the attributes. at names an attribute's place.
func (a attributes) check(e *Event, p *problems, at func(attribute string) string) {
	if a.specVersion != specVersion {
		p.add(at("specversion"), `must be "1.0"`)
	}
	for _, attribute := range []struct{ name, value string }{{"id", a.id}, {"source", a.source}} {
		switch {
		case attribute.value == "":
			p.add(at(attribute.name), "is required")
		case len(attribute.value) > maxAttribute:
			p.add(at(attribute.name), "must not be longer than 1024 bytes")
		case !headerSafe(attribute.value):
			p.add(at(attribute.name), "must be UTF-8 without control characters or spaces around it")
		}
	}
	e.ID, e.Source = a.id, a.source
	if a.time == "" {
		return
	}
	t, ok := parseRFC3339(a.time)
	if !ok {
		p.add(at("time"), "must be an RFC 3339 time")
	}
	e.Time = t
}

// headerSafe tells whether a value comes out of a header as it went in.
func headerSafe(value string) bool {
	return utf8.ValidString(value) && strings.TrimSpace(value) == value && !strings.ContainsFunc(value, unicode.IsControl)
}
