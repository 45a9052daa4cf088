package fault_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"

	"callboard/events"
)

// poisonHeader marks poison messages for the check.
const poisonHeader = "Fault-Poison"

// poison is a message that can't be applied and must become a dead letter.
type poison struct {
	name string
	events.Message
}

func (p poison) message() *nats.Msg {
	return &nats.Msg{Subject: p.Subject, Header: p.Header, Data: p.Data}
}

// poisonSource makes poison messages, of each kind in turn.
type poisonSource struct {
	random *rand.Rand
	made   int
}

// next returns a poison message of the phone system of e, and the valid events that it contradicts, if any.
func (p *poisonSource) next(e events.Event) (good []events.Event, bad poison) {
	p.made++
	system := e.System
	if system == uuid.Nil {
		system = p.id()
	}
	kinds := poisonKinds()
	kind := kinds[p.made%len(kinds)]
	if kind.corrupt == nil {
		good, bad = p.contradiction(system)
	} else {
		bad.Message = encoded(p.call(system))
		kind.corrupt(&bad.Message)
	}
	bad.name = kind.name
	if bad.Header == nil {
		bad.Header = nats.Header{}
	}
	bad.Header[nats.MsgIdHdr] = []string{fmt.Sprint("poison ", p.made)}
	bad.Header[poisonHeader] = []string{kind.name}
	return good, bad
}

// poisonKind corrupts a valid message. Without corrupt it is a contradiction of an earlier event.
type poisonKind struct {
	name    string
	corrupt func(*events.Message)
}

func poisonKinds() []poisonKind {
	replace := func(old, text string) func(*events.Message) {
		return func(m *events.Message) { m.Data = bytes.Replace(m.Data, []byte(old), []byte(text), 1) }
	}
	header := func(name, value string) func(*events.Message) {
		return func(m *events.Message) { m.Header[name] = []string{value} }
	}
	subject := func(change func(parts []string)) func(*events.Message) {
		return func(m *events.Message) {
			parts := strings.Split(m.Subject, ".")
			change(parts)
			m.Subject = strings.Join(parts, ".")
		}
	}
	return []poisonKind{
		{"contradiction", nil},
		{"truncated", func(m *events.Message) { m.Data = m.Data[:len(m.Data)/2] }},
		{"empty", func(m *events.Message) { m.Data = nil }},
		{"wrong type of a member", replace(`"version":1`, `"version":"one"`)},
		{"missing member", replace(`"version":1`, `"revision":1`)},
		{"duplicate member", replace(`"version":1`, `"version":1,"version":1`)},
		{"NUL", replace(`"inbound"`, `"in\u0000bound"`)},
		{"lone surrogate", replace(`"inbound"`, `"\ud800"`)},
		{"invalid UTF-8", replace(`"inbound"`, "\"\xff\"")},
		{"unknown type", header("ce-type", "callboard.fax.changed")},
		{"other spec version", header("ce-specversion", "0.3")},
		{"no headers", func(m *events.Message) { m.Header = nil }},
		{"subject of another system", subject(func(parts []string) { parts[1] = uuid.NewSHA1(uuid.Nil, []byte(parts[1])).String() })},
		{"subject of another entity", subject(func(parts []string) { parts[2] = string(events.EntityVoicemail) })},
		{"subject of an unknown entity", subject(func(parts []string) { parts[2] = "fax" })},
		{"missing claim check", missingClaimCheck},
	}
}

// missingClaimCheck makes the message a transcript whose object is not in the bucket.
func missingClaimCheck(m *events.Message) {
	e, err := events.Decode(*m)
	if err != nil {
		panic(err) // it was encoded here
	}
	m.Subject = events.Subject(e.System, events.EntityTranscript)
	m.Header["ce-type"] = []string{"callboard.transcript.changed"}
	m.Data = fmt.Appendf(nil, `{"phoneSystemId":%q,"callId":%q,"version":1,"status":"completed","object":{"bucket":%q,"name":%q,"bytes":3,`+
		`"digest":"SHA-256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU="}}`, e.System, e.Key, events.TranscriptBucket, e.Key)
}

// contradiction returns a recording, and a later version of it that belongs to another call.
func (p *poisonSource) contradiction(system uuid.UUID) (good []events.Event, bad poison) {
	r := &events.Recording{
		RecordingSid: "RE" + strings.ReplaceAll(p.id().String(), "-", ""), PhoneSystemID: system, CallID: events.Some(p.id()), Version: 1,
		Status: events.RecordingProcessing, CreatedAt: events.TimeOf(historyEnd()),
	}
	first := *r
	r.Version, r.CallID = 2, events.Some(p.id())
	return []events.Event{p.event(&first)}, poison{Message: encoded(p.event(r))}
}

func (p *poisonSource) call(system uuid.UUID) events.Event {
	return p.event(&events.Call{
		ID: p.id(), PhoneSystemID: system, Version: 1, CallSid: "CApoison", Direction: "inbound", Status: "completed", From: events.Some("+14155550123"),
		To: events.Some("+14155550100"), CreatedAt: events.TimeOf(historyEnd()),
	})
}

// event returns the state's event, with the attributes that a publisher adds.
func (p *poisonSource) event(state events.State) events.Event {
	e := events.Changed(state)
	e.ID, e.Source, e.Time = p.id().String()+"/"+strconv.FormatInt(e.Version, 10), "fault", historyEnd().Add(time.Second)
	return e
}

func (p *poisonSource) id() uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(p.random.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

func encoded(e events.Event) events.Message {
	m, err := events.Encode(e)
	if err != nil {
		panic(err) // only valid events are encoded here
	}
	return m
}

// No poison message can be decoded, except those that only the fold or the bucket refuses.
func TestPoison_IsNotDecoded(t *testing.T) {
	p := &poisonSource{random: rand.New(rand.NewPCG(1, 1))}
	for range poisonKinds() {
		_, bad := p.next(p.call(p.id()))
		e, err := events.Decode(bad.Message)
		transcript, isTranscript := e.State.(*events.Transcript)
		switch {
		case bad.name == "contradiction":
		case isTranscript && transcript.Object != nil: // its object is missing
		case err == nil:
			t.Errorf("%s: Decode returned no error", bad.name)
		}
	}
}
