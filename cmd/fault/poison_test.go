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

// poisonHeader marks messages that can't be applied, for the verdict alone.
const poisonHeader = "Fault-Poison"

// poison is a message that must become a dead letter.
type poison struct {
	name string
	events.Message
}

func (p poison) message() *nats.Msg {
	return &nats.Msg{Subject: p.Subject, Header: p.Header, Data: p.Data}
}

// pharmacy makes poisons, each kind in turn.
type pharmacy struct {
	dice *rand.Rand
	made int
}

// mix is a poison, and the good events that make it one. It is of the system that e is of.
func (p *pharmacy) mix(e events.Event) (good []events.Event, bad poison) {
	p.made++
	system := e.System
	if system == uuid.Nil {
		system = p.id()
	}
	kinds := poisons()
	kind := kinds[p.made%len(kinds)]
	if kind.spoil == nil {
		good, bad = p.contradiction(system)
	} else {
		bad.Message = encoded(p.call(system))
		kind.spoil(&bad.Message)
	}
	bad.name = kind.name
	if bad.Header == nil {
		bad.Header = nats.Header{}
	}
	bad.Header[nats.MsgIdHdr] = []string{fmt.Sprint("poison ", p.made)}
	bad.Header[poisonHeader] = []string{kind.name}
	return good, bad
}

// poisons are the kinds. One without spoil is a contradiction.
func poisons() []struct {
	name  string
	spoil func(*events.Message)
} {
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
	return []struct {
		name  string
		spoil func(*events.Message)
	}{
		{"contradiction", nil},
		{"cut short", func(m *events.Message) { m.Data = m.Data[:len(m.Data)/2] }},
		{"empty", func(m *events.Message) { m.Data = nil }},
		{"wrong type of a member", replace(`"version":1`, `"version":"one"`)},
		{"member missing", replace(`"version":1`, `"revision":1`)},
		{"member twice", replace(`"version":1`, `"version":1,"version":1`)},
		{"NUL", replace(`"inbound"`, `"in\u0000bound"`)},
		{"lone surrogate", replace(`"inbound"`, `"\ud800"`)},
		{"bad UTF-8", replace(`"inbound"`, "\"\xff\"")},
		{"unknown type", header("ce-type", "callboard.fax.changed")},
		{"another spec version", header("ce-specversion", "0.3")},
		{"no headers", func(m *events.Message) { m.Header = nil }},
		{"another system's subject", subject(func(parts []string) { parts[1] = uuid.NewSHA1(uuid.Nil, []byte(parts[1])).String() })},
		{"another entity's subject", subject(func(parts []string) { parts[2] = string(events.EntityVoicemail) })},
		{"no entity's subject", subject(func(parts []string) { parts[2] = "fax" })},
		{"missing claim check", missingClaimCheck},
	}
}

// missingClaimCheck makes the message a transcript whose body is nowhere.
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

// contradiction is a recording, and what says that it is of another call.
func (p *pharmacy) contradiction(system uuid.UUID) (good []events.Event, bad poison) {
	r := &events.Recording{
		RecordingSid: "RE" + strings.ReplaceAll(p.id().String(), "-", ""), PhoneSystemID: system, CallID: events.Some(p.id()), Version: 1,
		Status: events.RecordingProcessing, CreatedAt: events.TimeOf(present()),
	}
	first := *r
	r.Version, r.CallID = 2, events.Some(p.id())
	return []events.Event{p.sent(&first)}, poison{Message: encoded(p.sent(r))}
}

func (p *pharmacy) call(system uuid.UUID) events.Event {
	return p.sent(&events.Call{
		ID: p.id(), PhoneSystemID: system, Version: 1, CallSid: "CApoison", Direction: "inbound", Status: "completed", From: "+14155550123",
		To: "+14155550100", CreatedAt: events.TimeOf(present()),
	})
}

// sent is the event in its envelope.
func (p *pharmacy) sent(state events.State) events.Event {
	e := events.Changed(state)
	e.ID, e.Source, e.Time = p.id().String()+"/"+strconv.FormatInt(e.Version, 10), "fault", present().Add(time.Second)
	return e
}

func (p *pharmacy) id() uuid.UUID {
	var id uuid.UUID
	for i := range id {
		id[i] = byte(p.dice.Uint32())
	}
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}

func encoded(e events.Event) events.Message {
	m, err := events.Encode(e)
	if err != nil {
		panic(err) // only what can be read is encoded here
	}
	return m
}

// Every poison is one.
func TestPoisons_CannotBeRead(t *testing.T) {
	p := &pharmacy{dice: rand.New(rand.NewPCG(1, 1))}
	for range poisons() {
		_, bad := p.mix(p.call(p.id()))
		e, err := events.Decode(bad.Message)
		transcript, isTranscript := e.State.(*events.Transcript)
		switch {
		case bad.name == "contradiction":
		case isTranscript && transcript.Object != nil: // its body is missing
		case err == nil:
			t.Errorf("%s can be read", bad.name)
		}
	}
}
