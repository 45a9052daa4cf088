package events

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
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
)

// ServerHeader returns a header with which a server marks its copy of a stored message: an answer to DIRECT.GET, or
// a republished message. A publisher can have such a copy sent to a subject that only the server may publish, so a
// stream's reader must refuse it. The result is empty if the message has none.
func ServerHeader(h nats.Header) string { return readHeader(h).server }

// inAnyCase returns the one of the names to which a name is equal in any case of its letters, or nothing.
func inAnyCase(name string, names ...string) string {
	for _, usual := range names {
		if len(name) == len(usual) && strings.EqualFold(name, usual) {
			return usual
		}
	}
	return ""
}

// MessageID returns the Nats-Msg-Id of an event. JetStream compares nothing else, and an event's ID is unique for
// its source only. So the ID is a digest of both: the first 32 hexadecimal digits of SHA-256 over the source, a
// zero byte, and the ID.
func MessageID(source, id string) string {
	digest := sha256.Sum256([]byte(source + "\x00" + id))
	return hex.EncodeToString(digest[:16])
}

// Message is a NATS message: a subject, headers and a body.
type Message struct {
	Subject string
	Header  nats.Header
	Data    []byte
}

// attributes are the CloudEvents context attributes of a message.
type attributes struct {
	specVersion, id, source, ceType, time, contentType string

	server string // the name of a header with which a server marks copies, or empty
}

// readHeader reads the attributes. HTTP gateways change the case of names.
func readHeader(h nats.Header) attributes {
	a := attributes{
		specVersion: header(h, headerSpecVersion),
		id:          header(h, headerID),
		source:      header(h, headerSource),
		ceType:      header(h, headerType),
		time:        header(h, headerTime),
		contentType: header(h, headerContentType),
	}

	// A server marks its copy of a stored message with one of these headers, and readers refuse the copy.
	for name := range h {
		a.server = cmp.Or(a.server, inAnyCase(name, "Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp"))
	}
	return a
}

// header looks a header up in its usual case, then in any case.
func header(h nats.Header, name string) string {
	if v, ok := h[name]; ok && len(v) > 0 {
		return v[0]
	}
	for key, v := range h {
		if len(v) > 0 && inAnyCase(key, name) != "" {
			return v[0]
		}
	}
	return ""
}

func mediaType(contentType string) string {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.ToLower(strings.TrimSpace(media))
}

// check adds the attributes' problems to p and sets them in e. at returns the pointer to an attribute.
func (a attributes) check(e *Event, p *problems, at func(attribute string) string) {
	if a.specVersion != specVersion {
		p.add(at("specversion"), `must be "1.0"`)
	}

	for _, attribute := range []struct{ name, value string }{{"id", a.id}, {"source", a.source}} {
		switch {
		case attribute.value == "":
			p.add(at(attribute.name), "is required")
		case len(attribute.value) > maxAttribute:
			p.add(at(attribute.name), atMost(maxAttribute, "bytes"))
		case !headerSafe(attribute.value):
			p.add(at(attribute.name), "must be UTF-8 without control characters or spaces around it")
		}
	}

	e.ID, e.Source = a.id, a.source
	// The time is optional.
	if a.time == "" {
		return
	}

	t, ok := parseRFC3339(a.time)
	if !ok {
		p.add(at("time"), "must be an RFC 3339 time")
	}
	e.Time = t
}

// headerSafe reports whether a header carries a value unchanged.
func headerSafe(value string) bool {
	return utf8.ValidString(value) && strings.TrimSpace(value) == value && !strings.ContainsFunc(value, unicode.IsControl)
}

// Encode returns an event as a message in binary mode. An event that [Decode] would refuse is an error.
func Encode(e Event) (Message, error) {
	data, err := encodeData(e)
	if err != nil {
		return Message{}, err
	}

	m := Message{
		Subject: Subject(e.System, e.Entity),
		Header: nats.Header{
			headerSpecVersion: {specVersion},
			headerID:          {e.ID},
			headerSource:      {e.Source},
			headerType:        {e.Type()},
			headerContentType: {contentJSON},
			nats.MsgIdHdr:     {MessageID(e.Source, e.ID)},
		},
		Data: data,
	}

	if !e.Time.IsZero() {
		m.Header[headerTime] = []string{e.Time.UTC().Format(time.RFC3339Nano)}
	}

	// Decode has all rules, so Encode needs no checks of its own.
	_, err = Decode(m)
	return m, err
}

func encodeData(e Event) ([]byte, error) {
	if !e.Deleted() {
		return json.Marshal(e.State, json.Deterministic(true))
	}

	r, ok := registered(e.Entity)
	if !ok {
		return nil, fmt.Errorf("the entity %q is unknown", e.Entity)
	}

	d := deletion{Version: e.Version, PhoneSystemID: Null[uuid.UUID]{e.System, e.System != uuid.Nil}}
	if err := r.writeKey(e.Key, &d); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}
